
/// Which planted fault is in effect.
#[allow(warnings)]
pub(crate) mod chosen {
    use std::{
        collections::BTreeSet,
        env, fs,
        io::Write,
        sync::{LazyLock, Mutex},
    };

    static CHOSEN: LazyLock<u32> = LazyLock::new(|| {
        let chosen = env::var("PLANTED_FAULT").ok();
        chosen.and_then(|number| number.parse().ok()).unwrap_or(0)
    });

    /// The file that gets the numbers of the faults that are reached.
    static REACHED: LazyLock<Option<Mutex<(fs::File, BTreeSet<u32>)>>> = LazyLock::new(|| {
        // Other crates, and the programs that a test starts, write to the same file.
        let mut options = fs::OpenOptions::new();
        let file = options
            .append(true)
            .open(env::var_os("REACHED_FAULTS")?)
            .ok()?;
        Some(Mutex::new((file, BTreeSet::new())))
    });

    /// Whether a fault is in effect.
    pub(crate) fn is(fault: u32) -> bool {
        reach(fault);
        *CHOSEN == fault
    }

    fn reach(fault: u32) {
        if let Some(reached) = &*REACHED
            && let Ok(mut reached) = reached.lock()
            && reached.1.insert(fault)
        {
            // One write for the whole line: a process may end at each moment.
            let _ = reached.0.write_all(format!("{fault}\n").as_bytes());
        }
    }

    /// A comparison, or the one that a fault in effect makes of it.
    pub(crate) fn compare<A: ?Sized + PartialOrd<B>, B: ?Sized>(
        sign: &str,
        faults: &[(u32, &str)],
        left: &A,
        right: &B,
    ) -> bool {
        let other = faults.iter().find(|(fault, _)| is(*fault));
        match other.map_or(sign, |(_, other)| other) {
            "==" => left == right,
            "!=" => left != right,
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            _ => left >= right,
        }
    }
}
