//! Any text as a manifest: it is judged, and what was read can be written and
//! is read again as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    model::{Object, manifest},
    policy::Limits,
};

fuzz_target!(|text: &[u8]| {
    let Ok(objects) = manifest::read(text, &Limits::default()) else {
        return;
    };
    for object in objects {
        if matches!(object, Object::Unreadable(_)) {
            continue;
        }
        assert_eq!(Object::from_value(object.to_value()), object);
        let json = manifest::write_json(&object);
        assert_eq!(read(&json), [object.clone()], "{json}");
        let yaml = manifest::write_yaml(&object);
        assert_eq!(read(&yaml), [object], "{yaml}");
    }
});

fn read(text: &str) -> Vec<Object> {
    manifest::read(text.as_bytes(), &Limits::default()).expect("it was written by this library")
}
