package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sourceFolders are those whose code gets faults, from the project's root on.
var sourceFolders = []string{"go", "go/controller"}

// source is a file and its faults.
type source struct {
	// path is from the project's root on.
	path        string
	packageName string
	text        []byte
	faults      []*fault
}

// fault is a small change of the code.
type fault struct {
	// number is from 1 on: the value of the variable that chooses the fault.
	number int
	path   string
	// The lines of what it changes.
	line, lastLine int
	function       string
	// what it changes.
	what  string
	edits []edit
}

// edit is text in the place of a range of bytes.
type edit struct {
	start, end int
	text       string
	// rank is the order of edits at one offset.
	rank int
}

func (f *fault) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.path, f.line, f.function, f.what)
}

// listFaults lists the faults of all sources, without tests, generated code, and what no test
// can catch.
func listFaults(root string) ([]*source, error) {
	var sources []*source
	number := 0
	for _, folder := range sourceFolders {
		found, err := build.ImportDir(filepath.Join(root, folder), 0)
		if err != nil {
			return nil, err
		}
		for _, name := range found.GoFiles {
			source := &source{path: folder + "/" + name, packageName: found.Name}
			if source.text, err = os.ReadFile(filepath.Join(root, source.path)); err != nil {
				return nil, err
			}
			if number, err = source.list(number); err != nil {
				return nil, err
			}
			sources = append(sources, source)
		}
	}
	return sources, nil
}

// list finds the faults of a file, and numbers them from the one after last on. It returns the
// last number.
func (s *source) list(last int) (int, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, s.path, s.text, parser.ParseComments)
	if err != nil || ast.IsGenerated(file) {
		return last, err
	}
	finder := finder{source: s, file: files.File(file.Pos()), number: last}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Body != nil && !isText(function) {
			finder.function = nameOf(function)
			ast.Inspect(function.Body, finder.visit)
		}
	}
	s.keep(func(fault *fault) bool { return !isLeftOut(fault) })
	return finder.number, nil
}

// isText tells whether a function makes a text for people.
func isText(function *ast.FuncDecl) bool {
	name := function.Name.Name
	return function.Recv != nil && (name == "String" || name == "Error")
}

// leftOutFile names faults that no test can catch.
//
//go:embed left-out.txt
var leftOutFile string

// isLeftOut tells whether the file names a fault.
func isLeftOut(fault *fault) bool {
	name := fmt.Sprintf("%s: %s: %s", fault.path, fault.function, fault.what)
	return slices.Contains(strings.Split(leftOutFile, "\n"), name)
}

// keep deletes the other faults.
func (s *source) keep(isWanted func(*fault) bool) {
	s.faults = slices.DeleteFunc(s.faults, func(fault *fault) bool { return !isWanted(fault) })
}

func count(sources []*source) int {
	number := 0
	for _, source := range sources {
		number += len(source.faults)
	}
	return number
}

// nameOf is a function's name, after that of its receiver.
func nameOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	return fmt.Sprintf("%s.%s", receiver, function.Name.Name)
}

// finder finds the faults of a file.
type finder struct {
	source   *source
	file     *token.File
	function string
	number   int
	rank     int
}

// visit finds the faults of a node. Outer nodes are visited first.
func (f *finder) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.BlockStmt:
		f.statements(node.List)
	case *ast.CaseClause:
		f.statements(node.Body)
	case *ast.CommClause:
		f.statements(node.Body)
	case *ast.IfStmt:
		f.condition(node)
	case *ast.BinaryExpr:
		f.binary(node)
	case *ast.UnaryExpr:
		if node.Op == token.NOT {
			f.wrap(node, f.text(node)+" becomes "+f.text(node.X), "((", ") != plantedFault(%d))")
		}
	}
	return true
}

// statements finds statements that can be left out.
func (f *finder) statements(list []ast.Stmt) {
	for _, statement := range list {
		if canBeLeftOut(statement) {
			f.leaveOut(statement)
		}
		// The function goes on after these.
		if branch, ok := statement.(*ast.IfStmt); ok && branch.Else == nil && len(branch.Body.List) > 0 {
			switch last := branch.Body.List[len(branch.Body.List)-1].(type) {
			case *ast.ReturnStmt:
				f.leaveOut(last)
			case *ast.BranchStmt:
				if last.Tok == token.CONTINUE {
					f.leaveOut(last)
				}
			}
		}
	}
}

// canBeLeftOut tells whether the code without a statement compiles.
func canBeLeftOut(statement ast.Stmt) bool {
	switch statement := statement.(type) {
	case *ast.AssignStmt:
		return statement.Tok != token.DEFINE && !isBlank(statement.Lhs)
	case *ast.ExprStmt:
		call, isCall := statement.X.(*ast.CallExpr)
		if !isCall {
			return false
		}
		called, isName := call.Fun.(*ast.Ident)
		return !isName || called.Name != "panic"
	case *ast.DeferStmt, *ast.IncDecStmt, *ast.SendStmt:
		return true
	}
	return false
}

// isBlank tells whether an assignment has no effect but that of its right side.
func isBlank(places []ast.Expr) bool {
	return !slices.ContainsFunc(places, func(place ast.Expr) bool {
		name, isName := place.(*ast.Ident)
		return !isName || name.Name != "_"
	})
}

func (f *finder) leaveOut(statement ast.Stmt) {
	f.wrap(statement, f.text(statement)+" is left out", "if !plantedFault(%d) { ", " }")
}

// condition negates the condition of an if, unless the negation is a fault of its operator.
func (f *finder) condition(branch *ast.IfStmt) {
	switch condition := branch.Cond.(type) {
	case *ast.UnaryExpr:
		return
	case *ast.BinaryExpr:
		if condition.Op == token.EQL || condition.Op == token.NEQ {
			return
		}
	}
	f.wrap(branch.Cond, f.text(branch.Cond)+" is negated", "plantedFault(%d) != (", ")")
}

// neighbours are the comparisons that differ from another one if both sides are equal.
var neighbours = map[token.Token]string{
	token.LSS: "<=",
	token.LEQ: "<",
	token.GTR: ">=",
	token.GEQ: ">",
}

func (f *finder) binary(binary *ast.BinaryExpr) {
	becomes := func(sign string) string { return f.text(binary) + " becomes " + sign }
	switch binary.Op {
	case token.EQL:
		f.wrap(binary, becomes("!="), "((", ") != plantedFault(%d))")
	case token.NEQ:
		f.wrap(binary, becomes("=="), "((", ") != plantedFault(%d))")
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		other := neighbours[binary.Op]
		before := fmt.Sprintf("plantedComparison(%%d, %q, %q, ", binary.Op, other)
		f.between(binary, becomes(other), before, ", ", ")")
	case token.LAND:
		// If the left side is false, that decides; with the fault, if it is true.
		f.between(binary, becomes("||"), "func() bool { plantedLeft := ",
			"; if plantedLeft == plantedFault(%d) { return plantedLeft }; return ", " }()")
	case token.LOR:
		f.between(binary, becomes("&&"), "func() bool { plantedLeft := ",
			"; if plantedLeft != plantedFault(%d) { return plantedLeft }; return ", " }()")
	}
}

// wrap adds a fault that puts text around a node. %d in it becomes the number of the fault.
func (f *finder) wrap(node ast.Node, what, before, after string) *fault {
	f.number++
	f.rank++
	start, end := f.file.Offset(node.Pos()), f.file.Offset(node.End())
	fault := &fault{
		number:   f.number,
		path:     f.source.path,
		line:     f.file.Line(node.Pos()),
		lastLine: f.file.Line(node.End()),
		function: f.function,
		what:     what,
		edits: []edit{
			{start, start, f.numbered(before), f.rank},
			{end, end, f.numbered(after), -f.rank},
		},
	}
	f.source.faults = append(f.source.faults, fault)
	return fault
}

// between is wrap with text in the place of the operator, too.
func (f *finder) between(binary *ast.BinaryExpr, what, before, middle, after string) {
	fault := f.wrap(binary, what, before, after)
	start := f.file.Offset(binary.OpPos)
	fault.edits = append(fault.edits, edit{start, start + len(binary.Op.String()), f.numbered(middle), 0})
}

func (f *finder) numbered(text string) string {
	return strings.ReplaceAll(text, "%d", strconv.Itoa(f.number))
}

// text is a node's, on one line.
func (f *finder) text(node ast.Node) string {
	text := f.source.text[f.file.Offset(node.Pos()):f.file.Offset(node.End())]
	return strings.Join(strings.Fields(string(text)), " ")
}
