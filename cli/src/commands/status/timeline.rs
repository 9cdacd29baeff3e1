//! The line of time of a certificate.

use liqo_auth::model::Timestamp;

use crate::{
    output::{Drawing, age},
    overview::{Certificate, Renewal},
};

/// When the certificate began, the present time and the renewal on a line, and when it ends. A
/// present time before the begin or after the end is outside of the line.
pub(super) fn of(certificate: &Certificate, now: Timestamp, drawing: Drawing) -> String {
    let Certificate { begins, ends, .. } = certificate;
    let (begins, ends) = (*begins, *ends);
    let [first, inside, last] = drawing.line();
    let mut line = vec![inside; INSIDE];
    let mut put = |time: Timestamp, mark: char| {
        if let Some(cell) = line.get_mut(place(time, begins, ends)) {
            *cell = mark;
        }
    };
    if let Renewal::NotBefore(due) = certificate.renewal {
        put(due, drawing.due());
    }
    if (begins..=ends).contains(&now) {
        put(now, drawing.now());
    }
    let mark = |is_here: bool| if is_here { drawing.now() } else { ' ' };
    let (before, after) = (mark(now < begins), mark(now > ends));
    let line: String = line.into_iter().collect();
    format!("{begins}{before}{first}{line}{last}{after}{ends}")
}

/// What the marks are.
pub(super) fn legend(drawing: Drawing, now: Timestamp) -> String {
    format!("{} now, {now}   {} renewal", drawing.now(), drawing.due())
}

/// The same in words, but for the begin.
pub(super) fn said(certificate: &Certificate, now: Timestamp) -> String {
    let ends = certificate.ends;
    let end = match ends < now {
        true => format!("expired {} ago", age(now.since(ends))),
        false => format!("ends in {}", age(ends.since(now))),
    };
    let renewal = match &certificate.renewal {
        Renewal::NotBefore(due) => format!("renewal in {}, {due}", age(due.since(now))),
        Renewal::Due => "renewal due now".to_owned(),
        Renewal::Awaited => "renewal awaited".to_owned(),
        Renewal::ByHand => "renewed by hand".to_owned(),
        Renewal::Cannot => "renewal refused".to_owned(),
        Renewal::None => return end,
    };
    format!("{end}; {renewal}")
}

/// The place of a time on the line.
fn place(time: Timestamp, begins: Timestamp, ends: Timestamp) -> usize {
    let last = INSIDE - 1;
    let whole = ends.since(begins).as_secs().max(1);
    let cells = u64::try_from(last).unwrap_or_default();
    let part = time.since(begins).as_secs().saturating_mul(cells) / whole;
    usize::try_from(part).map_or(last, |place| place.min(last))
}

/// With the two times, and below a slice of a tree, a line has 80 columns.
const INSIDE: usize = 24;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{commands::status::tone_of_renewal, output::Tone};

    fn at(days: u64) -> Timestamp {
        "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + Duration::from_secs(86_400 * days)
    }

    fn certificate(renewal: Renewal) -> Certificate {
        Certificate {
            fingerprint: String::new(),
            until: String::new(),
            due: None,
            refused: None,
            begins: at(10),
            ends: at(240),
            renewal,
        }
    }

    fn drawn(now: u64, renewal: Renewal, drawing: Drawing) -> String {
        of(&certificate(renewal), at(now), drawing)
    }

    #[test]
    fn the_marks_are_where_the_times_are() {
        let due = || Renewal::NotBefore(at(160));
        for (now, line) in [
            (10, " |*--------------+--------| "),
            (19, " |*--------------+--------| "),
            (20, " |-*-------------+--------| "),
            (160, " |---------------*--------| "),
            (240, " |---------------+-------*| "),
            (9, "*|---------------+--------| "),
            (241, " |---------------+--------|*"),
        ] {
            let drawn = drawn(now, due(), Drawing::Ascii);
            let times = format!("{}{line}{}", at(10), at(240));
            assert_eq!(drawn, times, "{now}");
            assert_eq!(drawn.len(), 68);
        }
        let without = drawn(125, Renewal::Due, Drawing::Lines);
        assert!(
            without.contains(" ├───────────●────────────┤ "),
            "{without}"
        );
    }

    #[test]
    fn words_say_the_same() {
        for (now, renewal, words) in [
            (
                20,
                Renewal::NotBefore(at(30)),
                "ends in 220d; renewal in 10d, 2026-01-31T00:00:00Z",
            ),
            (20, Renewal::Due, "ends in 220d; renewal due now"),
            (240, Renewal::Awaited, "ends in 0s; renewal awaited"),
            (250, Renewal::ByHand, "expired 10d ago; renewed by hand"),
            (20, Renewal::Cannot, "ends in 220d; renewal refused"),
            (250, Renewal::None, "expired 10d ago"),
        ] {
            assert_eq!(said(&certificate(renewal), at(now)), words);
        }
        let tone = |renewal: Renewal| tone_of_renewal(&certificate(renewal));
        assert_eq!(tone(Renewal::Cannot), Some(Tone::Bad));
        assert_eq!(tone(Renewal::ByHand), None);
        assert_eq!(
            legend(Drawing::Ascii, at(0)),
            "* now, 2026-01-01T00:00:00Z   + renewal"
        );
    }
}
