//! Measures the whole handshake and its stages, and compares them with the sums of
//! their primitives.
//!
//! ```sh
//! cargo bench --bench handshake                        # a table
//! cargo bench --bench handshake -- --plain             # lines `NAME NANOSECONDS`
//! cargo bench --bench handshake -- --hostile            # only the worst inputs
//! cargo bench --bench handshake -- --only whole        # one stage
//! cargo bench --bench handshake -- --repeat 100 whole  # 100 times, not measured
//! ```
//!
//! See `benches/README.md`.
#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark has a clock, and stops at the first failure"
)]

mod clock;
mod clusters;
mod hostile;
mod primitives;
mod stages;

use clock::Stage;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        // `cargo bench` adds this argument.
        .filter(|argument| argument != "--bench")
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => table(),
        ["--plain"] => plain(stages::all()),
        ["--only", name] => plain(vec![named(name)]),
        ["--hostile"] => worst(),
        ["--repeat", number, name] => {
            let number = number.parse().expect("a number of repetitions");
            named(name).repeat(number);
        }
        _ => {
            eprintln!(
                "usage: handshake [--plain | --hostile | --only STAGE | --repeat NUMBER STAGE]"
            );
            std::process::exit(2);
        }
    }
}

fn named(name: &str) -> Stage {
    let all: [fn() -> Vec<Stage>; 2] = [stages::all, hostile::stages];
    all.into_iter()
        .flat_map(|stages| stages())
        .find(|stage| stage.name == name)
        .unwrap_or_else(|| panic!("there is no stage {name:?}"))
}

fn plain(mut stages: Vec<Stage>) {
    let nanoseconds = clock::measure(&mut stages);
    for (stage, nanoseconds) in stages.iter().zip(nanoseconds) {
        println!("{} {nanoseconds:.0}", stage.name);
    }
}

fn table() {
    let mut stages = stages::all();
    let nanoseconds = clock::measure(&mut stages);
    let of = |name: &str| {
        stages
            .iter()
            .position(|stage| stage.name == name)
            .map(|at| nanoseconds[at])
            .unwrap()
    };
    println!(
        "{:<24} {:>10} {:>12} {:>6}   of primitives",
        "", "ns", "primitives", ""
    );
    for (stage, nanoseconds) in stages.iter().zip(&nanoseconds) {
        let sum: f64 = stage
            .needs
            .iter()
            .map(|(number, primitive)| *number as f64 * of(primitive))
            .sum();
        print!("{:<24} {nanoseconds:>10.0}", stage.name);
        if sum > 0.0 {
            let needs = stage.needs.iter();
            let needs: Vec<String> = needs
                .map(|(number, primitive)| format!("{number} {primitive}"))
                .collect();
            let ratio = nanoseconds / sum;
            print!(" {sum:>12.0} {ratio:>6.2}   {}", needs.join(", "));
        }
        println!();
    }

    worst();
}

fn worst() {
    println!("\nThe slowest inputs within the limits, milliseconds:");
    let mut hostile = hostile::stages();
    let nanoseconds = clock::measure(&mut hostile);
    let mut lines: Vec<_> = hostile.iter().zip(nanoseconds).collect();
    lines.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    for (stage, nanoseconds) in lines {
        println!("{:<44} {:>8.3}", stage.name, nanoseconds / 1e6);
    }
}
