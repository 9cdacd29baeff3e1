//! The values of `--output`.

use std::{ffi::OsStr, marker::PhantomData, path::Path};

use clap::{
    Arg, Command, Error, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
    error::{ContextKind, ContextValue, ErrorKind},
};
use liqo_auth_jsonpath::Template;

use crate::input;

/// What a command prints: one of its own formats, or what a template picks from its
/// output for programs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Output<F> {
    Format(F),
    JsonPath(Template),
}

/// The formats of a command whose output for programs is one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    Json,
    Yaml,
}

impl<F: ValueEnum + Send + Sync + 'static> Output<F> {
    /// Parses the formats of a command, and kubectl's three ways to give a template.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Self> {
        OutputParser(PhantomData)
    }
}

#[derive(Debug)]
struct OutputParser<F>(PhantomData<F>);

impl<F> Clone for OutputParser<F> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<F: ValueEnum + Send + Sync + 'static> TypedValueParser for OutputParser<F> {
    type Value = Output<F>;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        let text = value
            .to_str()
            .ok_or_else(|| Error::new(ErrorKind::InvalidUtf8).with_cmd(command))?;
        if let Ok(format) = F::from_str(text, false) {
            return Ok(Output::Format(format));
        }
        let (form, template) = text.split_once('=').unwrap_or((text, ""));
        let is_form = TEMPLATES
            .iter()
            .any(|(name, _)| name.strip_suffix('=') == Some(form));
        if !is_form {
            return Err(unknown(self, command, argument, text));
        }
        self::template(form, template)
            .map(Output::JsonPath)
            .map_err(|error| {
                let error = format!("--output {form}: {error}\n");
                Error::raw(ErrorKind::ValueValidation, error).with_cmd(command)
            })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let formats = F::value_variants().iter().filter_map(F::to_possible_value);
        let templates = TEMPLATES
            .iter()
            .map(|(name, help)| PossibleValue::new(*name).help(*help));
        Some(Box::new(formats.chain(templates)))
    }
}

/// The template that an option gives.
fn template(form: &str, text: &str) -> Result<Template, String> {
    if text.is_empty() {
        return Err(format!(
            "no template is given. It comes after \"{form}=\", such as {form}={}",
            match form {
                "jsonpath-file" => "template.txt",
                _ => "'{.metadata.name}'",
            }
        ));
    }
    let parsed = match form {
        "jsonpath-file" => {
            let content = input::read(Path::new(text)).map_err(|failure| failure.to_string())?;
            let content = std::str::from_utf8(&content);
            Template::parse(content.map_err(|error| format!("{text}: {error}"))?)
        }
        "jsonpath-as-json" => Template::parse(text).map(Template::in_json),
        _ => Template::parse(text),
    };
    parsed.map_err(|error| error.to_string())
}

fn unknown(
    parser: &impl TypedValueParser,
    command: &Command,
    argument: Option<&Arg>,
    text: &str,
) -> Error {
    let mut error = Error::new(ErrorKind::InvalidValue).with_cmd(command);
    if let Some(argument) = argument {
        let name = ContextValue::String(argument.to_string());
        error.insert(ContextKind::InvalidArg, name);
    }
    let value = ContextValue::String(text.to_owned());
    error.insert(ContextKind::InvalidValue, value);
    let names = parser.possible_values().into_iter().flatten();
    let names = names.map(|value| value.get_name().to_owned()).collect();
    error.insert(ContextKind::ValidValue, ContextValue::Strings(names));
    error
}

/// kubectl's ways to give a template.
const TEMPLATES: [(&str, &str); 3] = [
    (
        "jsonpath=",
        "What a template picks, as in kubectl: jsonpath='{.metadata.name}'",
    ),
    ("jsonpath-as-json=", "The same, as a JSON array"),
    ("jsonpath-file=", "The same, with the template of a file"),
];
