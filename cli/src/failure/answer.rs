//! What an API server answers to a request that it does not carry out, in a sentence.

use kube::core::Status;

use crate::output::escaped;

/// A sentence about the answer, and what to run. The request is a verb and an object, such as
/// `get Secret liqo/a`, if it is known. The answer's own words are bounded, and do not steer a
/// terminal.
pub(super) fn sentence(request: Option<&str>, status: &Status) -> String {
    let code = status.code;
    let asked = match request {
        Some(request) => escaped(request),
        None => of(status),
    };
    let says = match status.message.is_empty() {
        true => escaped(&status.reason),
        false => escaped(&status.message),
    };
    match code {
        401 => format!(
            "the API server does not accept the credential of the kubeconfig (401, {asked}). Log in again, or name another one: kubectl auth whoami"
        ),
        403 => forbidden(&asked, &status.message, &says),
        404 => format!(
            "the API server does not have what this needs (404, {asked}), and says: {says}. See whether Liqo is installed: kubectl api-resources --api-group authentication.liqo.io"
        ),
        409 => format!(
            "another program was faster (409, {asked}), and the API server says: {says}. Run the command again"
        ),
        400 | 422 => format!(
            "the API server refuses the object (code {code}, {asked}), and says: {says}. See whether its Liqo is of another version: kubectl api-resources --api-group authentication.liqo.io"
        ),
        429 => format!(
            "the API server has too many requests (429, {asked}), and says: {says}. Run the command again later"
        ),
        500.. => format!(
            "the API server has failed ({code}, {asked}), and says: {says}. Run the command again when it is ready: kubectl get --raw /readyz"
        ),
        _ => format!("the API server refuses the request ({code}, {asked}), and says: {says}"),
    }
}

fn forbidden(asked: &str, message: &str, says: &str) -> String {
    if message.contains(DENIED) {
        return format!(
            "the admission of the API server denies this (403, {asked}), and says: {says}"
        );
    }
    let Some(right) = Right::of(message) else {
        return format!(
            "forbidden: the API server does not let this user do this (403, {asked}), and says: {says}. See what the user may: kubectl auth can-i --list"
        );
    };
    let Right {
        user,
        verb,
        resource,
        namespace,
    } = &right;
    let (place, option) = match namespace {
        Some(namespace) => (
            format!(" in the namespace {namespace}"),
            format!(" -n {namespace}"),
        ),
        None => (String::new(), String::new()),
    };
    format!(
        "forbidden: the API server does not let the user {user} {verb} {resource}{place} (403, {asked}). See the rights that this needs by `liqo-auth rbac`, have them granted, and look again: kubectl auth can-i {verb} {resource}{option}"
    )
}

/// A right that a user lacks, as the API server names it.
#[derive(Debug, PartialEq, Eq)]
struct Right {
    user: String,
    verb: String,
    /// With its group, as kubectl takes it.
    resource: String,
    namespace: Option<String>,
}

impl Right {
    /// Reads the words of an API server: `User "x" cannot get resource "secrets" in API group ""
    /// in the namespace "liqo"`.
    fn of(message: &str) -> Option<Self> {
        let (_, rest) = message.split_once("User \"")?;
        let (user, rest) = rest.split_once("\" cannot ")?;
        let (verb, rest) = rest.split_once(" resource \"")?;
        let (resource, rest) = rest.split_once('"')?;
        let quoted = |before: &str| {
            let (_, rest) = rest.split_once(before)?;
            Some(rest.split_once('"')?.0)
        };
        let group = quoted("in API group \"").unwrap_or_default();
        let is_word = |text: &str| {
            let mut characters = text.chars();
            !text.is_empty()
                && characters.all(|it| it.is_ascii_alphanumeric() || "-./*".contains(it))
        };
        let resource = match (resource.split_once('/'), group) {
            (_, "") => resource.to_owned(),
            (None, group) => format!("{resource}.{group}"),
            (Some((resource, sub)), group) => format!("{resource}.{group}/{sub}"),
        };
        let namespace = quoted("in the namespace \"");
        // The command is copied.
        let are_words = is_word(verb) && is_word(&resource) && namespace.is_none_or(is_word);
        are_words.then(|| Self {
            user: escaped(user),
            verb: escaped(verb),
            resource: escaped(&resource),
            namespace: namespace.map(escaped),
        })
    }
}

/// What the answer is about, if nobody knows the request.
fn of(status: &Status) -> String {
    let details = status.details.as_ref();
    let named = details.map(|details| format!("{} {}", details.kind, details.name));
    match named.as_deref().map(str::trim) {
        None | Some("") => "a request".to_owned(),
        Some(named) => escaped(named),
    }
}

/// What an API server says of a request that an admission webhook has denied.
const DENIED: &str = " denied the request";

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: u16, message: &str) -> String {
        let status = Status {
            code,
            message: message.to_owned(),
            reason: "Reason".to_owned(),
            ..Status::default()
        };
        sentence(Some("create Secret liqo/a"), &status)
    }

    #[test]
    fn each_answer_has_its_words_and_the_next_command() {
        for (code, part, command) in [
            (401, "does not accept the credential", "kubectl auth whoami"),
            (
                403,
                "does not let this user do this",
                "kubectl auth can-i --list",
            ),
            (
                404,
                "does not have what this needs",
                "kubectl api-resources",
            ),
            (409, "another program was faster", "Run the command again"),
            (400, "refuses the object", "kubectl api-resources"),
            (422, "refuses the object", "kubectl api-resources"),
            (429, "too many requests", "Run the command again later"),
            (500, "has failed", "kubectl get --raw /readyz"),
            (503, "has failed", "kubectl get --raw /readyz"),
            (418, "refuses the request", "says: why"),
        ] {
            let text = told(code, "why");
            assert!(text.contains(part) && text.contains(command), "{text}");
            assert!(
                text.contains(&format!("{code}, create Secret liqo/a)")),
                "{text}"
            );
            assert_eq!(text.contains("says: why"), code != 401, "{text}");
        }
        assert!(told(500, "").contains("says: Reason"));
    }

    #[test]
    fn a_missing_right_is_named_as_kubectl_takes_it() {
        let of = |text: &str| Right::of(text);
        let right = |user: &str, verb: &str, resource: &str, namespace: Option<&str>| {
            Some(Right {
                user: user.to_owned(),
                verb: verb.to_owned(),
                resource: resource.to_owned(),
                namespace: namespace.map(str::to_owned),
            })
        };
        assert_eq!(
            of(
                "secrets \"a\" is forbidden: User \"jane\" cannot get resource \"secrets\" in API group \"\" in the namespace \"liqo\""
            ),
            right("jane", "get", "secrets", Some("liqo"))
        );
        assert_eq!(
            of(
                "User \"system:serviceaccount:a:b\" cannot patch resource \"tenants/status\" in API group \"authentication.liqo.io\" at the cluster scope"
            ),
            right(
                "system:serviceaccount:a:b",
                "patch",
                "tenants.authentication.liqo.io/status",
                None
            )
        );
        assert_eq!(
            of(
                "User \"a\" cannot list resource \"tenants\" in API group \"authentication.liqo.io\" at the cluster scope"
            ),
            right("a", "list", "tenants.authentication.liqo.io", None)
        );
        for other in [
            "no",
            "User \"a\" cannot get path \"/x\"",
            "User \"a\" cannot get; rm resource \"secrets\" in API group \"\"",
            "User \"a\" cannot get resource \"\" in API group \"\"",
            "User \"a\" cannot get resource \"s\" in API group \"\" in the namespace \"$(x)\"",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        let text = told(
            403,
            "secrets is forbidden: User \"jane\" cannot create resource \"secrets\" in API group \"\" in the namespace \"liqo\"",
        );
        assert!(
            text.contains("let the user jane create secrets in the namespace liqo (403"),
            "{text}"
        );
        assert!(
            text.ends_with("kubectl auth can-i create secrets -n liqo"),
            "{text}"
        );
    }

    #[test]
    fn the_servers_words_are_bounded_and_steer_no_terminal() {
        let denied = "admission webhook \"x\" denied the request: \u{1b}[2J";
        let text = told(403, &format!("{denied}{}", "a".repeat(10_000)));
        assert!(
            text.contains("the admission of the API server denies this"),
            "{text}"
        );
        assert!(text.contains("\\u{1b}[2J") && text.len() < 400, "{text}");
        for code in [400, 403, 404, 409, 418, 429, 500] {
            let text = told(code, &"\u{1b}".repeat(10_000));
            assert!(!text.contains('\u{1b}') && text.len() < 1200, "{text}");
        }
    }

    #[test]
    fn an_unknown_request_is_named_by_the_answer() {
        let mut status = Status::default();
        assert!(sentence(None, &status).contains("(0, a request)"));
        let details = serde_json::from_str("{\"kind\": \"pods\", \"name\": \"a\"}").unwrap();
        status.details = Some(details);
        assert!(sentence(None, &status).contains("(0, pods a)"));
    }
}
