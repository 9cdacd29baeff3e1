//! Any text as a manifest. Nothing panics. Each object that was read can be written,
//! and reading it again gives the same object.
#![no_main]

use core::slice;

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
        assert_eq!(read(&json), slice::from_ref(&object), "{json}");
        let yaml = manifest::write_yaml(&object);
        assert_eq!(read(&yaml), [object], "{yaml}");
    }
});

fn read(text: &str) -> Vec<Object> {
    manifest::read(text.as_bytes(), &Limits::default()).expect("this library wrote the text")
}
