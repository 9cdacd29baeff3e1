//! Durations in kubectl's format.

use std::time::Duration;

/// One or two units: `88s`, `16m`, `4m7s`, `3h12m`, `41h`, `5d3h`, `412d`.
pub fn age(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / MINUTE, seconds / HOUR, seconds / DAY);
    let with = |whole: u64, unit: &str, rest: u64, smaller: &str| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{smaller}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => with(minutes, "m", seconds % MINUTE, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => with(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => with(days, "d", hours % 24, "h"),
        _ if days < 730 => format!("{days}d"),
        _ if days < 2920 => with(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

#[cfg(test)]
mod tests {
    use super::*;

    /// `duration.HumanDuration` of k8s.io/apimachinery gives the same texts.
    #[test]
    fn ages_are_kubectls() {
        for (seconds, shown) in [
            (0, "0s"),
            (88, "88s"),
            (247, "4m7s"),
            (300, "5m"),
            (960, "16m"),
            (11_520, "3h12m"),
            (147_600, "41h"),
            (442_800, "5d3h"),
            (86_400 * 412, "412d"),
            (86_400 * 800, "2y70d"),
            (86_400 * 3650, "10y"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), shown);
        }
    }
}
