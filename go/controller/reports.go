package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// report is what a person should know of a peer.
type report struct {
	// reason is that of the event.
	reason string
	// code is the type of the notice or of what is awaited, or the code of the error.
	code string
	// remedy is the code of what an administrator can do; empty without a remedy.
	remedy string
	// object is what the report speaks of. It is empty if it is the whole peering.
	object liqoauth.ObjectReference
	text   string
}

// told is what a report tells. The same text is no news about another object.
type told struct{ reason, text string }

// The reasons of the events.
const (
	noticeReason  = "Notice"
	awaitedReason = "Awaited"
	refusedReason = "Refused"
)

// mostReported is how many reports of looks that did not come to rest are remembered.
const mostReported = 8192

// fresh notes the reports of a run, and returns those that are new, each once. A run that was not
// completed does not show all of them, so the earlier ones stay noted.
func (s *session) fresh(reports []report, isCompleted bool) []report {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	before := s.reported
	if isCompleted || before == nil || len(before) >= mostReported {
		s.reported = map[told]bool{}
	}
	var fresh []report
	for _, found := range reports {
		tells := told{found.reason, found.text}
		if !before[tells] && !s.reported[tells] {
			fresh = append(fresh, found)
		}
		s.reported[tells] = true
	}
	return fresh
}

// noticesOf returns the notices of a step. A notice counts even if the step removes its cause.
func noticesOf(step *liqoauth.Step, at *place) []report {
	var reports []report
	for _, notice := range step.Notices {
		found := report{reason: noticeReason, code: notice.Type}
		for _, object := range []*liqoauth.ObjectReference{notice.Identity, notice.Slice, notice.Secret} {
			if object != nil {
				found.object = *object
			}
		}
		if slices.Contains([]string{"conditionHeld", "noClusterRole", "renewalNotCarried"}, notice.Type) {
			found.object = at.tenant
		}
		found.text = notice.Type + fieldsOf(notice, "type", "error", "remedy")
		if notice.Error != nil {
			found.text += ": " + textOf(notice.Error)
		}
		reports = append(reports, found.with(notice.Remedy))
	}
	return reports
}

// awaitedOf returns what a step awaits of an administrator.
func awaitedOf(step *liqoauth.Step, at *place) []report {
	var reports []report
	for _, awaited := range step.Wait.Awaiting {
		if awaited.Remedy == nil {
			continue
		}
		found := report{reason: awaitedReason, code: awaited.Type}
		switch {
		case awaited.Object != nil:
			found.object = *awaited.Object
		case awaited.Type == "approval":
			found.object = at.tenant
		}
		found.text = awaited.Type + fieldsOf(awaited, "type", "from", "remedy")
		reports = append(reports, found.with(awaited.Remedy))
	}
	return reports
}

// refusedOf returns what a step refuses.
func refusedOf(step *liqoauth.Step) []report {
	var reports []report
	for _, refused := range step.Refused {
		if refused.Error == nil {
			continue
		}
		found := *refused.Error
		if found.Object == nil {
			found.Object = refused.Object
		}
		reports = append(reports, failed(&found))
	}
	return reports
}

// errorOf returns the report of an error of the library.
func errorOf(err error) []report {
	var refused *liqoauth.Error
	if !errors.As(err, &refused) {
		return nil
	}
	return []report{failed(refused)}
}

func failed(err *liqoauth.Error) report {
	found := report{reason: refusedReason, code: string(err.Code), text: textOf(err)}
	if err.Object != nil {
		found.object = *err.Object
	}
	return found.with(err.Remedy)
}

// textOf returns what is wrong, and what helps.
func textOf(err *liqoauth.Error) string { return fmt.Sprintf("%v. %s", err, err.Advice) }

// with adds the remedy. It comes first, since the end of a long text is cut off.
func (r report) with(remedy *liqoauth.Remedy) report {
	if remedy != nil {
		r.remedy = remedy.Code
		r.text = fmt.Sprintf("remedy %s%s: %s", remedy.Code, fieldsOf(remedy, "code"), r.text)
	}
	return r
}

// fieldsOf returns the JSON of a value after a space, without these fields and those that are empty.
func fieldsOf(value any, without ...string) string {
	// These values always have JSON.
	text, _ := json.Marshal(value)
	fields := map[string]any{}
	_ = json.Unmarshal(text, &fields)
	maps.DeleteFunc(fields, func(name string, value any) bool {
		return value == nil || value == "" || value == false || slices.Contains(without, name)
	})
	if len(fields) == 0 {
		return ""
	}
	text, _ = json.Marshal(fields)
	return " " + string(text)
}
