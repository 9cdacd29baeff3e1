//! Label selectors, in the three forms that the library uses, and field selectors.

use serde_json::Value;

pub struct Selector {
    labels: Vec<Requirement>,
    /// A path, such as `metadata.name`, and its value.
    fields: Vec<(String, String)>,
}

enum Requirement {
    Exists(String),
    In(String, Vec<String>),
}

impl Selector {
    /// Reads labels as `a`, `a=b` and `a in (b,c)`, and fields as `a.b=c`, joined by commas.
    pub fn parse(labels: &str, fields: &str) -> Self {
        let mut requirements = Vec::new();
        let mut rest = labels;
        while !rest.is_empty() {
            let end = match (rest.find(','), rest.find('(')) {
                (Some(comma), Some(open)) if open < comma => rest.find(')').unwrap() + 1,
                (Some(comma), _) => comma,
                (None, _) => rest.len(),
            };
            let (one, after) = rest.split_at(end);
            requirements.push(Requirement::parse(one.trim()));
            rest = after.trim_start_matches(',');
        }
        let fields = fields.split(',').filter_map(|field| field.split_once('='));
        Self {
            labels: requirements,
            fields: fields
                .map(|(path, value)| (format!("/{}", path.replace('.', "/")), value.to_owned()))
                .collect(),
        }
    }

    pub fn matches(&self, object: &Value) -> bool {
        let label = |key: &str| {
            let labels = object.pointer("/metadata/labels");
            labels
                .and_then(|labels| labels.get(key))
                .and_then(Value::as_str)
        };
        let has = |(path, value): &(String, String)| {
            object.pointer(path).and_then(Value::as_str) == Some(value)
        };
        self.fields.iter().all(has)
            && self.labels.iter().all(|requirement| match requirement {
                Requirement::Exists(key) => label(key).is_some(),
                Requirement::In(key, values) => {
                    label(key).is_some_and(|value| values.iter().any(|one| one == value))
                }
            })
    }
}

impl Requirement {
    fn parse(text: &str) -> Self {
        if let Some((key, values)) = text.split_once(" in ") {
            let values = values.trim_matches(['(', ')']).split(',');
            return Self::In(key.to_owned(), values.map(str::to_owned).collect());
        }
        match text.split_once('=') {
            Some((key, value)) => Self::In(
                key.to_owned(),
                vec![value.trim_start_matches('=').to_owned()],
            ),
            None => Self::Exists(text.to_owned()),
        }
    }
}
