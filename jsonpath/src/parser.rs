//! The grammar of a template.

use super::quoted::unquoted;

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// Text outside of braces.
    Text(String),
    /// What stands in braces.
    Action(Vec<Node>),
}

/// A step of an action, from the values so far to the next ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Text(String),
    Field(String),
    Range(Bounds),
    Filter {
        left: Vec<Node>,
        /// None: the item passes if the left side exists.
        comparison: Option<(String, Vec<Node>)>,
    },
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// `*`
    Wildcard,
    /// `..`
    Recursive,
    /// `[a,b]`
    Union(Vec<Vec<Node>>),
    /// `range` or `end`; other words are errors when they are evaluated.
    Word(String),
}

/// An index or a slice, `[from:to:step]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) from: Option<i64>,
    pub(super) to: Option<i64>,
    /// Whether `to` follows from an index.
    pub(super) is_index: bool,
    pub(super) step: Option<i64>,
}

/// Parses a template.
pub(super) fn parse(template: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, action)) = rest.split_once('{') {
        if !text.is_empty() {
            parts.push(Part::Text(text.to_owned()));
        }
        let mut parser = Parser { rest: action };
        parts.push(Part::Action(parser.action()?));
        rest = parser.rest;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

/// Parses an action, given without its braces.
fn parse_action(text: &str) -> Result<Vec<Node>, String> {
    let closed = format!("{text}}}");
    Parser { rest: &closed }.action()
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    /// Parses up to the closing brace.
    fn action(&mut self) -> Result<Vec<Node>, String> {
        let mut nodes = Vec::new();
        loop {
            if self.takes("}") {
                return Ok(nodes);
            }
            if self.takes("[?(") {
                nodes.push(self.filter()?);
                continue;
            }
            if self.takes("..") {
                if nodes.last() == Some(&Node::Recursive) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                nodes.push(Node::Recursive);
                if self.rest.starts_with(is_word) {
                    nodes.push(self.field());
                }
                continue;
            }
            let next = self.rest.chars().next();
            match next {
                None | Some('\r' | '\n') => return Err("unclosed action".to_owned()),
                // The current object, and the root: both are what is there.
                Some(' ' | '@' | '$') => self.skip(1),
                Some('[') => self.array(&mut nodes)?,
                Some(quote @ ('"' | '\'')) => nodes.push(Node::Text(self.quote(quote)?)),
                Some('.') => {
                    self.skip(1);
                    nodes.push(self.field());
                }
                Some('+' | '-') => nodes.push(self.number()?),
                Some(digit) if digit.is_numeric() => nodes.push(self.number()?),
                Some(letter) if is_word(letter) => nodes.push(self.word()),
                Some(other) => {
                    let shown = match other.is_control() {
                        true => String::new(),
                        false => format!(" '{other}'"),
                    };
                    return Err(format!(
                        "unrecognized character in action: U+{:04X}{shown}",
                        u32::from(other)
                    ));
                }
            }
        }
    }

    /// A key, an index, a slice or several of them, in brackets.
    fn array(&mut self, nodes: &mut Vec<Node>) -> Result<(), String> {
        let text = self.until("]").ok_or("unterminated array")?;
        let text = text.strip_prefix('[').unwrap_or(text);
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let each = text.split(',');
            let each = each.map(|one| parse_action(&format!("[{}]", one.trim_matches(' '))));
            nodes.push(Node::Union(each.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = text
            .strip_prefix('\'')
            .and_then(|key| key.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            nodes.extend(parse_action(&format!(".{key}"))?);
            return Ok(());
        }
        nodes.push(Node::Range(bounds(text)?));
        Ok(())
    }

    /// A filter, after `[?(`.
    fn filter(&mut self) -> Result<Node, String> {
        let (mut begins, mut ends) = (None, false);
        let mut before = '(';
        let mut end = None;
        for (at, next) in self.rest.char_indices() {
            match next {
                '\n' => break,
                '"' | '\'' if begins.is_none() => begins = Some(next),
                '"' | '\'' if before != '\\' && begins == Some(next) => ends = true,
                ')' if begins.is_some() == ends => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
            before = next;
        }
        let text = end.and_then(|end| self.rest.get(..end));
        let text = text.ok_or("unterminated filter")?;
        self.skip(text.chars().count() + 1);
        if !self.takes("]") {
            return Err("unclosed array expect ]".to_owned());
        }
        let Some((left, operator, right)) = compared(text) else {
            return Ok(Node::Filter {
                left: parse_action(text)?,
                comparison: None,
            });
        };
        Ok(Node::Filter {
            left: parse_action(left)?,
            comparison: Some((operator.to_owned(), parse_action(right)?)),
        })
    }

    fn quote(&mut self, quote: char) -> Result<String, String> {
        let mut before = quote;
        let mut end = None;
        for (at, next) in self.rest.char_indices().skip(1) {
            match next {
                '\n' => break,
                next if next == quote && before != '\\' => {
                    end = Some(at);
                    break;
                }
                next => before = next,
            }
        }
        let content = end.and_then(|end| self.rest.get(1..end));
        let content = content.ok_or("unterminated quoted string")?;
        self.skip(content.chars().count() + 2);
        unquoted(content, quote)
            .ok_or_else(|| format!("unquote string {quote}{content}{quote} error invalid syntax"))
    }

    fn field(&mut self) -> Node {
        let mut is_escaped = false;
        let name = self.while_is(|next| {
            let goes_on = is_escaped || !is_terminator(next);
            is_escaped = !is_escaped && next == '\\';
            goes_on
        });
        match name {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        }
    }

    fn number(&mut self) -> Result<Node, String> {
        let mut is_first = true;
        let text = self.while_is(|next| {
            let is_sign = std::mem::take(&mut is_first) && matches!(next, '+' | '-');
            is_sign || next == '.' || next.is_numeric()
        });
        let integer = text.parse().map(Node::Integer);
        integer
            .or_else(|_| text.parse().map(Node::Float))
            .map_err(|_| format!("cannot parse number {text}"))
    }

    fn word(&mut self) -> Node {
        match self.while_is(|next| !is_terminator(next)) {
            "true" => Node::Boolean(true),
            "false" => Node::Boolean(false),
            word => Node::Word(word.to_owned()),
        }
    }

    fn takes(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip(&mut self, characters: usize) {
        let mut rest = self.rest.chars();
        for _ in 0..characters {
            rest.next();
        }
        self.rest = rest.as_str();
    }

    /// The text before `end`, on this line. Both are taken.
    fn until(&mut self, end: &str) -> Option<&'t str> {
        let (text, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(text).filter(|text| !text.contains('\n'))
    }

    fn while_is(&mut self, mut is: impl FnMut(char) -> bool) -> &'t str {
        let end = self.rest.find(|next| !is(next));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }
}

/// The parts of `[from:to:step]`.
fn bounds(text: &str) -> Result<Bounds, String> {
    let wrong = || format!("invalid array index {text}");
    let mut numbers = text.split(':').map(|number| {
        let digits = number.strip_prefix('-').unwrap_or(number);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        match number {
            "" => Ok(None),
            number => number
                .parse()
                .map(Some)
                .map_err(|_| format!("array index {number} is not a number")),
        }
    });
    let from: Option<i64> = numbers.next().transpose()?.flatten();
    let to = numbers.next().transpose()?;
    let step = numbers.next().transpose()?.flatten();
    if numbers.next().is_some() {
        return Err(wrong());
    }
    Ok(Bounds {
        from,
        to: to.unwrap_or_else(|| Some(from.unwrap_or_default().saturating_add(1))),
        is_index: to.is_none(),
        step,
    })
}

/// The two sides of a comparison, and its operator. None if the text compares nothing.
fn compared(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |next: char| matches!(next, '!' | '<' | '>' | '=');
    let (left, rest) = text.split_at(text.find(is_operator)?);
    let end = rest.find(|next| !is_operator(next));
    // Something has to be left for the right side.
    let (operator, right) = rest.split_at(end.unwrap_or(rest.len().checked_sub(1)?));
    let is_whole = !left.is_empty() && !operator.is_empty() && !right.is_empty();
    is_whole.then_some((left, operator, right))
}

fn is_word(next: char) -> bool {
    next == '_' || next.is_alphabetic() || next.is_numeric()
}

fn is_terminator(next: char) -> bool {
    matches!(
        next,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}
