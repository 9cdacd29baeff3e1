//! Measures how long each stage takes.

use std::time::{Duration, Instant};

/// A piece of work that is measured.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    /// The primitives that the stage needs, with the least number of each.
    pub(crate) needs: &'static [(u32, &'static str)],
    run: Box<dyn FnMut(u64) -> Duration>,
}

impl Stage {
    pub(crate) fn new(name: &'static str, mut once: impl FnMut() + 'static) -> Self {
        Self::timed(name, move |times| {
            let start = Instant::now();
            for _ in 0..times {
                once();
            }
            start.elapsed()
        })
    }

    /// A stage that measures its own time. The argument of `run` is the number of
    /// turns.
    pub(crate) fn timed(name: &'static str, run: impl FnMut(u64) -> Duration + 'static) -> Self {
        Self {
            name,
            needs: &[],
            run: Box::new(run),
        }
    }

    pub(crate) fn needs(self, needs: &'static [(u32, &'static str)]) -> Self {
        Self { needs, ..self }
    }

    pub(crate) fn repeat(&mut self, times: u64) {
        (self.run)(times);
    }
}

/// Returns the nanoseconds of each stage.
///
/// Each round runs all stages in turn, so a slower machine affects all of them. The
/// result is the median over the batches of a round, in the best round, as in
/// `benches/reference`.
pub(crate) fn measure(stages: &mut [Stage]) -> Vec<f64> {
    let turns: Vec<u64> = stages.iter_mut().map(turns_of_a_batch).collect();
    let mut best = vec![f64::INFINITY; stages.len()];
    for _ in 0..ROUNDS {
        for ((stage, turns), best) in stages.iter_mut().zip(&turns).zip(&mut best) {
            *best = best.min(round(stage, *turns));
        }
    }
    best
}

/// The median over the batches of one round.
fn round(stage: &mut Stage, turns: u64) -> f64 {
    let mut batches = Vec::new();
    let start = Instant::now();
    while batches.len() < 3 || start.elapsed() < ROUND {
        let nanoseconds = (stage.run)(turns).as_nanos();
        batches.push(nanoseconds as f64 / turns as f64);
    }
    batches.sort_by(f64::total_cmp);
    batches[batches.len() / 2]
}

/// The number of turns that take about [`BATCH`]. Finding it also warms up.
fn turns_of_a_batch(stage: &mut Stage) -> u64 {
    let mut turns = 1;
    loop {
        let elapsed = (stage.run)(turns);
        if elapsed >= BATCH {
            return turns;
        }
        turns *= 2;
    }
}

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(60);
const BATCH: Duration = Duration::from_millis(2);
