use proptest::proptest;

use super::*;
use crate::{
    model::{ApiServerUrl, ExecCredential, Kubeconfig, UserCredential, manifest},
    policy::Limits,
};

fn read(text: &str) -> Vec<Object> {
    manifest::read(text.as_bytes(), &Limits::default()).unwrap()
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(object in any_object()) {
        assert_eq!(Object::from_value(object.to_value()), object);
        assert_eq!(read(&manifest::write_json(&object)), core::slice::from_ref(&object));
        #[cfg(feature = "yaml")]
        assert_eq!(read(&manifest::write_yaml(&object)), [object]);
    }

    #[test]
    fn no_text_is_too_strange_to_be_judged(text in ".{0,200}", bytes in vec(any::<u8>(), 0..200)) {
        let _ = manifest::read(text.as_bytes(), &Limits::default());
        let _ = manifest::read(&bytes, &Limits::default());
        let _ = text.parse::<ApiServerUrl>();
        let _ = format!("https://{text}").parse::<ApiServerUrl>();
    }

    #[test]
    fn a_kubeconfig_is_read_as_it_was(
        names in (any_text(), any_text(), any_url()),
        bytes in (any_bytes(), any_bytes(), any_bytes()),
        optional in (option::of(any_url()), option::of("[a-z]{1,9}")),
        kind in 0..4,
    ) {
        let certificate = bytes.1;
        let credential = match kind {
            0 => UserCredential::KeyFile { certificate, key: names.2.clone() },
            1 => UserCredential::KeyData { certificate, key: bytes.2.to_vec().into() },
            2 => UserCredential::Exec(ExecCredential {
                api_version: names.0.clone(),
                command: names.1.clone(),
                args: vec![names.2.clone()],
                env: vec![(names.0.clone(), names.1.clone())],
            }),
            _ => UserCredential::Elsewhere,
        };
        let kubeconfig = Kubeconfig {
            cluster: names.0,
            server: names.2,
            certificate_authority: bytes.0,
            proxy_url: optional.0,
            user: names.1,
            credential,
            namespace: optional.1,
        };
        let text = kubeconfig.to_yaml();
        let text = core::str::from_utf8(text.expose()).unwrap();
        #[cfg(feature = "yaml")]
        assert_eq!(Kubeconfig::parse(text), Ok(kubeconfig));
        #[cfg(not(feature = "yaml"))]
        assert!(text.ends_with('\n'));
    }
}
