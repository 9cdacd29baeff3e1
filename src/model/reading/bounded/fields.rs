//! The fields of one object, as far as they are kept.

use zeroize::Zeroizing;

use super::{Bounds, scanner::Token};

/// The object that is being read. Its fields are collected one by one, so that those of its
/// metadata remain if the others are too large.
pub(super) struct Fields {
    bounds: Bounds,
    /// Whether this may be a list or an event, not an object.
    is_outermost: bool,
    /// The open maps and lists, the object itself included.
    depth: usize,
    is_in_metadata: bool,
    field: Option<Field>,
    /// `apiVersion` and `kind`.
    named: Joined,
    /// The short fields of the metadata.
    short: Joined,
    /// The maps and lists of the metadata.
    metadata: Joined,
    others: Joined,
    over: Option<Over>,
}

/// What an object has too much of.
#[derive(Clone, Copy)]
pub(super) enum Over {
    Bytes,
    Values,
}

/// What a token means for the object.
pub(super) enum Taken {
    Inside,
    /// The object is complete.
    Ended,
    /// This is no object: its present field holds objects. The token begins the value.
    Holds(Held),
}

/// How a list or an event holds objects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    InList,
    Alone,
}

/// A field that is being read: its key, a colon, and its value.
struct Field {
    text: Zeroizing<Vec<u8>>,
    /// The commas, maps and lists.
    marks: usize,
    kind: FieldKind,
    is_kept: bool,
    has_key: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Named,
    Short,
    OfMetadata,
    Other,
}

/// Fields with commas between them.
#[derive(Default)]
struct Joined {
    text: Zeroizing<Vec<u8>>,
    marks: usize,
}

impl Fields {
    /// An object whose first brace was just read.
    pub(super) fn new(bounds: Bounds, is_outermost: bool) -> Self {
        Self {
            bounds,
            is_outermost,
            depth: 1,
            is_in_metadata: false,
            field: None,
            named: Joined::default(),
            short: Joined::default(),
            metadata: Joined::default(),
            others: Joined::default(),
            over: None,
        }
    }

    pub(super) fn take(&mut self, token: Token, piece: &[u8]) -> Taken {
        let level = if self.is_in_metadata { 2 } else { 1 };
        if self.depth != level {
            self.nest(token);
            self.push(token, piece);
            return Taken::Inside;
        }
        match token {
            Token::Text { starts: true, .. } if self.field.is_none() => {
                self.field = Some(Field::new(self.is_in_metadata));
                self.push(token, piece);
            }
            Token::Comma => self.complete(),
            Token::Close => {
                self.complete();
                self.depth -= 1;
                self.is_in_metadata = false;
                if self.depth == 0 {
                    return Taken::Ended;
                }
            }
            Token::OpenMap if level == 1 && self.key() == METADATA => {
                self.field = None;
                self.is_in_metadata = true;
                self.depth += 1;
            }
            Token::OpenMap if self.may_hold() && level == 1 && self.key() == HOLDS_ONE => {
                return Taken::Holds(Held::Alone);
            }
            Token::OpenList if self.may_hold() && level == 1 && HOLD_MANY.contains(&self.key()) => {
                return Taken::Holds(Held::InList);
            }
            _ => {
                self.nest(token);
                self.push(token, piece);
            }
        }
        Taken::Inside
    }

    /// The object as JSON. What it has too much of is marked.
    pub(super) fn finish(&self) -> Vec<u8> {
        let mut text = self.opened();
        if let Some(over) = self.over {
            join(&mut text, over.mark());
        }
        text.push(b'}');
        text
    }

    /// What was read of a list or an event, up to the value that holds objects.
    pub(super) fn up_to_value(&self) -> Vec<u8> {
        let mut text = self.opened();
        if let Some(field) = &self.field {
            join(&mut text, &field.text);
        }
        text
    }

    fn opened(&self) -> Vec<u8> {
        let room = self.others.text.len() + self.metadata.text.len() + 512;
        let mut text = Vec::with_capacity(room);
        text.push(b'{');
        join(&mut text, &self.named.text);
        if !self.short.text.is_empty() || !self.metadata.text.is_empty() {
            let mut metadata = br#""metadata":{"#.to_vec();
            join(&mut metadata, &self.short.text);
            join(&mut metadata, &self.metadata.text);
            metadata.push(b'}');
            join(&mut text, &metadata);
        }
        join(&mut text, &self.others.text);
        text
    }

    /// Whether this may be a list or an event. Neither has too much beside its objects.
    fn may_hold(&self) -> bool {
        self.is_outermost && self.over.is_none()
    }

    /// The key of the present field, with its quotes.
    fn key(&self) -> &[u8] {
        let text = self.field.as_ref().map(|field| field.text.as_slice());
        text.and_then(|text| text.strip_suffix(b":"))
            .unwrap_or_default()
    }

    fn nest(&mut self, token: Token) {
        match token {
            Token::OpenMap | Token::OpenList => self.depth += 1,
            Token::Close => self.depth -= 1,
            _ => {}
        }
    }

    fn push(&mut self, token: Token, piece: &[u8]) {
        let Some(field) = self.field.as_mut().filter(|field| field.is_kept) else {
            return;
        };
        if token == Token::Space {
            return;
        }
        if matches!(token, Token::Comma | Token::OpenMap | Token::OpenList) {
            field.marks += 1;
        }
        let room = match field.kind {
            FieldKind::Named | FieldKind::Short => SHORT,
            FieldKind::OfMetadata => self.bounds.bytes.saturating_sub(self.metadata.text.len()),
            // The key may be that of the metadata.
            FieldKind::Other if self.over.is_some() && !field.has_key => SHORT,
            FieldKind::Other if self.over.is_some() => 0,
            FieldKind::Other => self.bounds.bytes.saturating_sub(self.others.text.len()),
        };
        if field.text.len() + piece.len() > room {
            return self.give_up(Over::Bytes);
        }
        field.text.extend_from_slice(piece);
        if token == Token::Colon && !field.has_key {
            field.has_key = true;
            field.find_kind(self.is_in_metadata);
        }
        if self.has_too_many() {
            self.leave_out_others(Over::Values);
            let is_other = |field: &Field| field.kind == FieldKind::Other;
            if self.field.as_ref().is_some_and(is_other) || self.has_too_many() {
                self.give_up(Over::Values);
            }
        }
    }

    /// Whether there are too many values: an object of n values has at most 2n marks.
    fn has_too_many(&self) -> bool {
        let parts = [&self.named, &self.short, &self.metadata, &self.others];
        let marks: usize = parts.iter().map(|part| part.marks).sum();
        let marks = 1 + marks + self.field.as_ref().map_or(0, |field| field.marks);
        marks > self.bounds.values.saturating_mul(2)
    }

    /// Keeps nothing of the present field, nor of the fields outside of the metadata.
    fn give_up(&mut self, over: Over) {
        self.leave_out_others(over);
        if let Some(field) = &mut self.field {
            field.text = Zeroizing::default();
            field.marks = 0;
            field.is_kept = false;
        }
    }

    fn leave_out_others(&mut self, over: Over) {
        self.over.get_or_insert(over);
        self.others = Joined::default();
    }

    fn complete(&mut self) {
        let Some(field) = self.field.take().filter(|field| field.is_kept) else {
            return;
        };
        let fields = match field.kind {
            FieldKind::Named => &mut self.named,
            FieldKind::Short => &mut self.short,
            FieldKind::OfMetadata => &mut self.metadata,
            FieldKind::Other if self.over.is_some() => return,
            FieldKind::Other => &mut self.others,
        };
        let is_short = matches!(field.kind, FieldKind::Named | FieldKind::Short);
        if is_short && fields.text.len() + field.text.len() > MOST_SHORT {
            self.over.get_or_insert(Over::Bytes);
            return;
        }
        join(&mut fields.text, &field.text);
        fields.marks += field.marks;
    }
}

impl Field {
    fn new(is_in_metadata: bool) -> Self {
        Self {
            text: Zeroizing::default(),
            marks: 0,
            kind: if is_in_metadata {
                FieldKind::Short
            } else {
                FieldKind::Other
            },
            is_kept: true,
            has_key: false,
        }
    }

    /// Takes note of the key, which was just read with its colon.
    fn find_kind(&mut self, is_in_metadata: bool) {
        let key = self.text.strip_suffix(b":").unwrap_or_default();
        if !is_in_metadata {
            if NAMED.contains(&key) {
                self.kind = FieldKind::Named;
            }
        } else if COLLECTIONS.contains(&key) {
            self.kind = FieldKind::OfMetadata;
        } else if !SHORT_FIELDS.contains(&key) {
            self.is_kept = false;
        }
    }
}

impl Over {
    /// The field that [`check`](super::check) reads.
    const fn mark(self) -> &'static [u8] {
        match self {
            Self::Bytes => br#""overLimit":"bytes""#,
            Self::Values => br#""overLimit":"values""#,
        }
    }
}

fn join(text: &mut Vec<u8>, fields: &[u8]) {
    if fields.is_empty() {
        return;
    }
    if !text.is_empty() && !text.ends_with(b"{") {
        text.push(b',');
    }
    text.extend_from_slice(fields);
}

const METADATA: &[u8] = br#""metadata""#;
/// The field of a watch event with its object.
const HOLDS_ONE: &[u8] = br#""object""#;
/// The fields of a list, and of a call, with their objects.
const HOLD_MANY: [&[u8]; 2] = [br#""items""#, br#""objects""#];
const NAMED: [&[u8]; 2] = [br#""apiVersion""#, br#""kind""#];
/// The maps and lists of the metadata that this library reads.
const COLLECTIONS: [&[u8]; 4] = [
    br#""annotations""#,
    br#""finalizers""#,
    br#""labels""#,
    br#""ownerReferences""#,
];
/// The other fields of the metadata that this library reads, and those of a list.
const SHORT_FIELDS: [&[u8]; 11] = [
    br#""continue""#,
    br#""creationTimestamp""#,
    br#""deletionGracePeriodSeconds""#,
    br#""deletionTimestamp""#,
    br#""generateName""#,
    br#""generation""#,
    br#""name""#,
    br#""namespace""#,
    br#""remainingItemCount""#,
    br#""resourceVersion""#,
    br#""uid""#,
];
/// The most bytes of a short field. A continue token is the longest.
const SHORT: usize = 4 * 1024;
/// The most bytes of all short fields.
const MOST_SHORT: usize = 16 * 1024;
