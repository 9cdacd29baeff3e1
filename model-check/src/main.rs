//! Explores every state of the configurations, and checks the invariants in each.

mod calls;
mod cast;
mod configurations;
mod deeds;
mod end;
mod facts;
mod fairness;
mod ghost;
mod hostile;
mod instants;
mod interned;
mod judgement;
mod keys;
mod model;
mod offloading;
mod planted;
mod properties;
mod setup;
mod state;
mod store;
mod transitions;
mod two_way;
mod witness;
mod world;

use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use crate::{configurations::Configuration, world::World};

#[allow(clippy::disallowed_methods, reason = "a program has arguments")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    let named: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let is_wanted = |name: &str| named.is_empty() || named.contains(&name);
    let mut holds = true;
    if !has("--planted") {
        let configurations = match (named.is_empty(), has("--all")) {
            (true, false) => configurations::short(),
            _ => configurations::all(),
        };
        let mut sum = 0;
        for configuration in configurations.into_iter().filter(|it| is_wanted(it.name)) {
            let report = explore(configuration, HasDiscoveries::All);
            sum += report.states;
            holds &= report.broken.is_empty();
            report.print_broken();
        }
        println!("{sum} states");
    }
    if named.is_empty() || has("--planted") {
        for (configuration, expected) in planted::all() {
            let until = HasDiscoveries::AnyOf([expected].into());
            let report = explore(configuration, until);
            let is_broken = report.broken.iter().any(|(name, _)| *name == expected);
            println!(
                "  {}: {expected}",
                if is_broken { "breaks" } else { "KEEPS" }
            );
            holds &= is_broken;
        }
    }
    if !holds {
        std::process::exit(1);
    }
}

/// What came out of an exploration.
struct Report {
    states: usize,
    /// The invariants that do not hold, each with the way to a state.
    broken: Vec<(&'static str, Vec<String>)>,
}

impl Report {
    fn print_broken(&self) {
        for (name, steps) in &self.broken {
            println!("  broken: {name}");
            for step in steps {
                println!("    {step}");
            }
        }
    }
}

/// Explores every state of a configuration, or as many as show what is wanted.
#[allow(
    clippy::disallowed_methods,
    reason = "it tells how long it takes, and how far it is"
)]
fn explore(configuration: Configuration, until: HasDiscoveries) -> Report {
    let start = Instant::now();
    let name = configuration.name;
    let checker = World::new(configuration)
        .checker()
        .finish_when(until)
        .spawn_bfs();
    if std::env::var_os("PROGRESS").is_some() {
        while !checker.is_done() {
            std::thread::sleep(Duration::from_secs(2));
            eprintln!("  {} states", checker.unique_state_count());
        }
    }
    let checker = checker.join();
    let world = checker.model();
    let (stores, messages) = world.sizes();
    println!(
        "{name}: {} states, {} transitions, depth {}, {stores} stores, {messages} messages, {:.1} s",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        start.elapsed().as_secs_f64(),
    );
    let mut broken = Vec::new();
    for (property, path) in checker.discoveries() {
        let last = *path.last_state();
        let steps = path.into_vec().into_iter().filter_map(|(state, action)| {
            action.and_then(|action| world.format_step(&state, action))
        });
        let steps: Vec<String> = steps.chain([properties::describe(world, &last)]).collect();
        broken.push((property, steps));
    }
    Report {
        states: checker.unique_state_count(),
        broken,
    }
}

/// The text of bytes in base64.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit =
        |group: u32, place: u32| char::from(ALPHABET[(group >> (18 - 6 * place) & 63) as usize]);
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |number: usize| u32::from(chunk.get(number).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let is_padding = place as usize > chunk.len();
            text.push(if is_padding { '=' } else { digit(group, place) });
        }
    }
    text
}
