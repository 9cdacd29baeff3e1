//! A script that carries by files what has expired or is due. It follows what is printed, and
//! nothing else.

use super::{
    changed_providers::in_ticks,
    ways_out::{OF_CONSUMER, command_in, with_peering},
};
use crate::tool::{Folder, Run};

/// A folder at a time.
struct At(Folder, &'static str);

const EXPIRED: &str = "--now +400d --write-at-this-time";
const DUE: &str = "--now +300d --write-at-this-time";

impl At {
    /// A peering with a slice. The Renew was carried before.
    fn new(time: &'static str) -> Self {
        let folder = with_peering();
        folder.ok("create resourceslice mypool --home cl-consumer --remote-home cl-provider");
        folder.ok("replicate --home cl-consumer --remote-home cl-provider");
        Self(folder, time)
    }

    fn run(&self, command: &str) -> Run {
        self.0.run(&format!("{command} {}", self.1))
    }

    fn ok(&self, command: &str) -> String {
        let run = self.run(command);
        assert_eq!(run.code, 0, "{command}: {run:?}");
        run.out
    }

    /// Carries what a command prints to the other side. Returns what is said there.
    fn carried(&self, generate: &str, apply: &str) -> String {
        self.0.write("carried.yaml", &self.ok(generate));
        let run = self.run(&apply.replace("FILE", "carried.yaml"));
        assert_eq!(run.code, 0, "{apply}: {run:?}");
        run.err
    }

    /// The three steps of an object: to the provider, and back.
    fn carried_again(&self, [ask, receive, answer, take]: [&str; 4]) {
        self.carried(ask, &format!("{receive} --home cl-provider"));
        self.carried(&format!("{answer} --home cl-provider"), take);
    }

    /// The steps that an `apply` of an Identity names. Returns how many objects were carried.
    fn carried_as_printed(&self, said: &str) -> usize {
        let lines = said.lines();
        let lines: Vec<&str> = lines
            .skip_while(|line| !line.starts_with("The answer in "))
            .collect();
        for step in lines.chunks(4) {
            let [_, ask, there, take] = step else {
                panic!("{said}");
            };
            let (receive, answer) = there.split_once(", and ").unwrap();
            let [ask, receive, answer, take] = [ask, receive, answer, take].map(command_in);
            self.carried_again([&ask, &receive, &answer, &take]);
        }
        lines.len() / 4
    }

    fn is_well(&self) {
        for home in ["cl-consumer", "cl-provider"] {
            for command in ["doctor", "renew", "status --exit-code"] {
                let run = self.run(&format!("{command} --home {home}"));
                assert_eq!(run.code, 0, "{command}: {run:?}");
                assert!(!run.err.contains("has to"), "{command}: {run:?}");
            }
            let status = self.ok(&format!("status --home {home}"));
            assert!(!status.contains("expired"), "{status}");
        }
    }

    fn remedies(&self, home: &str) -> Vec<String> {
        let run = self.run(&format!("doctor --home {home} -o json"));
        assert_eq!(run.code, 4, "{run:?}");
        let all: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let findings = all["findings"].as_array().unwrap().iter();
        findings
            .map(|found| found["remedy"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Carries what the consumer's finding names.
    fn carried_by_finding(&self) {
        let [remedy] = self.remedies("cl-consumer").try_into().unwrap();
        let (_, said) = remedy
            .split_once("the present answer is carried by")
            .unwrap();
        let [ask, receive, answer, take] = in_ticks(said)[..] else {
            panic!("{remedy}");
        };
        self.carried_again([ask, receive, answer, take]);
    }
}

/// Authenticates as the finding says that it is done by files. Returns what is said at the end.
fn authenticated_by_files(at: &At) -> String {
    // The control plane comes first, and the slice after it.
    let [remedy, _] = at.remedies("cl-consumer").try_into().unwrap();
    let (_, said) = remedy.split_once("By files, ").unwrap();
    let [invite, generate, receive, answer, take] = in_ticks(said)[..] else {
        panic!("{remedy}");
    };
    at.ok(&format!("{invite} --home cl-provider"));
    let nonce = at.ok(&format!("get nonce {OF_CONSUMER}"));
    let generate = generate.replace("NONCE", nonce.trim());
    at.carried(&generate, &format!("{receive} --home cl-provider"));
    at.carried(&format!("{answer} --home cl-provider"), take)
}

#[test]
fn the_consumer_of_an_expired_peering_is_led_through_all_files() {
    let at = At::new(EXPIRED);
    // The slice has a refusal of its own.
    let run = at.run("renew --home cl-consumer -o json");
    assert_eq!(run.code, 3, "{run:?}");
    let told: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let certificates = told["certificates"].as_array().unwrap();
    assert_eq!(certificates.len(), 2, "{told}");
    for certificate in certificates {
        assert_eq!(certificate["renewal"], "refused", "{told}");
    }
    let said = authenticated_by_files(&at);
    // The Renew and the slice have expired as well.
    assert_eq!(
        said.matches(" has expired. cl-provider has to answer")
            .count(),
        2,
        "{said}"
    );
    assert_eq!(at.carried_as_printed(&said), 2, "{said}");
    at.is_well();
}

/// Whoever has not read the last lines finds the same steps, one object after the other.
#[test]
fn what_has_expired_beside_the_identity_is_carried_by_its_finding() {
    let at = At::new(EXPIRED);
    authenticated_by_files(&at);
    let remedies = at.remedies("cl-consumer");
    assert!(!remedies.is_empty());
    for remedy in remedies {
        let together = "run `liqo-auth replicate --home cl-consumer --remote-home DIR`";
        assert!(remedy.contains(together), "{remedy}");
        let (_, said) = remedy
            .split_once("the present answer is carried by")
            .unwrap();
        let [ask, receive, answer, take] = in_ticks(said)[..] else {
            panic!("{remedy}");
        };
        at.carried_again([ask, receive, answer, take]);
    }
    at.is_well();
}

/// The files that `renew` at the provider names, for what has expired and for what is due.
#[test]
fn what_a_provider_renews_is_carried_as_printed() {
    for time in [EXPIRED, DUE] {
        let at = At::new(time);
        let renewed = at.run("renew --home cl-provider");
        assert_eq!(renewed.code, 0, "{renewed:?}");
        let (_, step) = renewed.err.split_once("Here: liqo-auth ").unwrap();
        let (generate, step) = step
            .split_once("\nThen on cl-consumer: liqo-auth ")
            .unwrap();
        let generate: Vec<&str> = generate.split(", and liqo-auth ").collect();
        assert_eq!(
            generate,
            [
                "generate renew controlplane-cl-provider --home cl-provider --remote-cluster-id cl-consumer",
                "generate resourceslice mypool --home cl-provider --remote-cluster-id cl-consumer"
            ]
        );
        let apply = format!("{} --home cl-consumer", step.trim_end());
        for generate in generate {
            at.carried(generate, &apply);
        }
        at.is_well();
    }
}

/// What a provider's doctor names of each certificate that has expired.
#[test]
fn each_expired_certificate_has_the_command_that_prints_it() {
    let at = At::new(EXPIRED);
    let remedies = at.remedies("cl-provider");
    let generate = |what: &str| {
        format!("(`liqo-auth generate {what} --home cl-provider --remote-cluster-id cl-consumer`)")
    };
    let expected = ["renew controlplane-cl-provider", "resourceslice mypool"].map(generate);
    assert_eq!(remedies.len(), 2, "{remedies:?}");
    for (remedy, expected) in remedies.iter().zip(expected) {
        assert!(remedy.contains(&expected), "{expected}: {remedy}");
    }
    // Without a Renew, it is the Identity.
    let folder = with_peering();
    let doctor = folder.run("doctor --home cl-provider --now +400d");
    assert!(
        doctor.out.contains("generate identity --home cl-provider"),
        "{doctor:?}"
    );
}

/// A person carries the Identity, and the answer in the Renew is of before.
#[test]
fn a_renewal_by_the_identity_alone_leads_to_the_renew() {
    let identity = "generate identity --home cl-provider --remote-cluster-id cl-consumer";
    let slice = "generate resourceslice mypool --home cl-provider --remote-cluster-id cl-consumer";
    let apply = "apply -f FILE --home cl-consumer";
    for by_finding in [false, true] {
        let at = At::new(DUE);
        at.ok("renew --home cl-provider");
        at.carried(slice, apply);
        let said = at.carried(identity, apply);
        assert!(
            said.contains(
                "The answer in Renew controlplane-cl-provider is older than the Identity."
            ),
            "{said}"
        );
        let run = at.run("renew --home cl-consumer");
        assert_eq!(run.code, 3, "{run:?}");
        assert!(
            run.err.contains("generate renew controlplane-cl-provider"),
            "{run:?}"
        );
        match by_finding {
            true => at.carried_by_finding(),
            false => assert_eq!(at.carried_as_printed(&said), 1, "{said}"),
        }
        at.is_well();
    }
}

/// One that ends earlier takes the place of a longer one, and the answer in the Renew begins before.
#[test]
fn a_certificate_that_is_signed_again_leads_to_the_renew() {
    let at = At::new("--now +1d --write-at-this-time");
    let settings = at.0.read("cl-provider/home.yaml");
    let settings = format!("{settings}certificateLifetime: 30d\n");
    at.0.write("cl-provider/home.yaml", &settings);
    at.ok("sign-again tenant cl-consumer --force --home cl-provider");
    let identity = "generate identity --home cl-provider --remote-cluster-id cl-consumer";
    at.carried(identity, "apply -f FILE --home cl-consumer");
    at.carried_by_finding();
    at.is_well();
}
