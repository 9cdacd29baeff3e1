//! Faults in the text of a source file. Each one asks at run time whether it is chosen.
//!
//! A fault only inserts text into the file, and at most takes an operator out. Lines keep
//! their numbers, faults may lie in each other, and no operand is written twice.

use std::ops::Range;

use syn::{
    Arm, BinOp, Block, Expr, ExprBinary, ExprMatch, ExprStruct, ExprUnary, ImplItemFn, ItemFn,
    ItemImpl, ItemMod, Pat, Signature, TraitItemFn, UnOp,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{
    Failure,
    faults::{Fault, Genre, Place, Span},
    features,
};

/// The module that the planted calls lead to.
pub(crate) const MODULE: &str = include_str!("../copied/chosen.rs");

/// A file with faults, and where the text of each fault lies in it.
pub(crate) struct Planted {
    pub(crate) text: String,
    pub(crate) inserted: Vec<(u32, Range<usize>)>,
}

/// Plants faults in a file. Faults that have no place in it are left out.
pub(crate) fn plant(text: &str, faults: &[&Fault]) -> Result<Planted, Failure> {
    let file = syn::parse_file(text)?;
    let mut planter = Planter {
        lines: Lines::of(text),
        text,
        faults,
        edits: Vec::new(),
    };
    planter.visit_file(&file);
    Ok(planter.written())
}

/// Where each line of a text begins.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(end, _)| end + 1);
        Self([0].into_iter().chain(ends).collect())
    }

    /// The offset in bytes of a place whose line counts from 1, and whose column from 0.
    fn offset(&self, text: &str, line: usize, column: usize) -> usize {
        let start = self.0[line - 1];
        let columns = text[start..].char_indices().map(|(at, _)| at);
        start + columns.take(column + 1).last().unwrap_or_default()
    }
}

/// Text that takes the place of a range, for some faults.
struct Edit {
    range: Range<usize>,
    text: String,
    faults: Vec<u32>,
    /// The order of edits at one offset.
    rank: isize,
}

struct Planter<'t> {
    text: &'t str,
    lines: Lines,
    faults: &'t [&'t Fault],
    edits: Vec<Edit>,
}

impl Planter<'_> {
    fn range(&self, node: &impl Spanned) -> Range<usize> {
        let (start, end) = (node.span().start(), node.span().end());
        let offset = |line, column| self.lines.offset(self.text, line, column);
        offset(start.line, start.column)..offset(end.line, end.column)
    }

    /// The faults of a genre that replace a node.
    fn at(&self, genre: Genre, node: &impl Spanned) -> Vec<&Fault> {
        let span = Span {
            start: place(node.span().start()),
            end: place(node.span().end()),
        };
        let is_here = |fault: &&&Fault| fault.genre == genre && fault.span == span;
        self.faults.iter().filter(is_here).copied().collect()
    }

    /// Text before and after a range. The texts of an outer range enclose those of the
    /// ranges in it, since outer nodes are visited first.
    fn wrap(&mut self, range: &Range<usize>, before: String, after: String, faults: &[&Fault]) {
        let rank = self.edits.len() as isize + 1;
        self.insert(range.start, before, faults, rank);
        self.insert(range.end, after, faults, -rank);
    }

    fn insert(&mut self, at: usize, text: String, faults: &[&Fault], rank: isize) {
        self.replace(at..at, text, faults, rank);
    }

    fn replace(&mut self, range: Range<usize>, text: String, faults: &[&Fault], rank: isize) {
        let faults = faults.iter().map(|fault| fault.number).collect();
        self.edits.push(Edit {
            range,
            text,
            faults,
            rank,
        });
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) else {
            return;
        };
        let span = Span {
            start: place(first.span().start()),
            end: place(last.span().end()),
        };
        let body = self.range(block);
        let is_here = |fault: &&&Fault| fault.genre == Genre::FnValue && fault.span == span;
        let faults: Vec<&Fault> = self.faults.iter().filter(is_here).copied().collect();
        for fault in faults {
            let value = &fault.replacement;
            let text = format!("if {} {{ return {value}; }} ", chosen(fault));
            self.insert(body.start + 1, text, &[fault], 0);
        }
        // A constant function cannot ask.
        let has_fault = self
            .faults
            .iter()
            .any(|fault| span.start <= fault.span.start && fault.span.end <= span.end);
        if let (Some(constant), true) = (signature.constness, has_fault) {
            let range = self.range(&constant);
            self.replace(range, String::new(), &[], 0);
        }
    }

    fn comparison(&mut self, binary: &ExprBinary, faults: &[&Fault]) {
        let sign = self.range(&binary.op);
        let planted: Vec<String> = faults
            .iter()
            .map(|fault| format!("({}, {:?})", fault.number, fault.replacement))
            .collect();
        let original = &self.text[sign.clone()];
        let before = format!(
            "crate::chosen::compare({original:?}, &[{}], &(",
            planted.join(", ")
        );
        self.replace(sign, "), &(".into(), faults, 0);
        self.wrap(&self.range(binary), before, "))".into(), faults);
    }

    fn arithmetic(&mut self, binary: &ExprBinary, faults: &[&Fault]) {
        let sign = self.range(&binary.op);
        let original = &self.text[sign.clone()];
        let mut after = String::from("); ");
        for fault in faults {
            let value = format!("left {} right", fault.replacement);
            after += &format!("if {} {{ {value} }} else ", chosen(fault));
        }
        after += &format!("{{ left {original} right }} }})");
        self.replace(sign, "); let right = (".into(), faults, 0);
        self.wrap(&self.range(binary), "({ let left = (".into(), after, faults);
    }

    fn assignment(&mut self, binary: &ExprBinary, faults: &[&Fault]) {
        let whole = self.range(binary);
        let sign = self.range(&binary.op);
        let place = &self.text[self.range(&binary.left)];
        let original = &self.text[sign.clone()];
        let mut after = String::from("); ");
        for fault in faults {
            let value = format!("{place} {} right;", fault.replacement);
            after += &format!("if {} {{ {value} }} else ", chosen(fault));
        }
        after += &format!("{{ {place} {original} right; }} }})");
        self.replace(whole.start..sign.end, "({ let right = (".into(), faults, 0);
        self.insert(whole.end, after, faults, -(self.edits.len() as isize));
    }

    fn binary(&mut self, binary: &ExprBinary, faults: &[&Fault]) {
        let sign = self.range(&binary.op);
        match (&binary.op, faults) {
            // The parts of a chain of `let` cannot be taken apart.
            _ if has_let(&binary.left) || has_let(&binary.right) => {}
            (BinOp::And(_) | BinOp::Or(_), [fault]) => {
                let decides = if matches!(binary.op, BinOp::And(_)) {
                    "=="
                } else {
                    "!="
                };
                let between = format!("; if left {decides} {} {{ left }} else {{", chosen(fault));
                self.replace(sign, between, faults, 0);
                let whole = self.range(binary);
                self.wrap(&whole, "({ let left = ".into(), "} })".into(), faults);
            }
            (BinOp::Eq(_) | BinOp::Ne(_), [fault]) => {
                let after = format!(") ^ {})", chosen(fault));
                self.wrap(&self.range(binary), "((".into(), after, faults);
            }
            (BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_), _) => {
                self.comparison(binary, faults);
            }
            (
                BinOp::AddAssign(_)
                | BinOp::SubAssign(_)
                | BinOp::MulAssign(_)
                | BinOp::DivAssign(_)
                | BinOp::RemAssign(_)
                | BinOp::BitXorAssign(_)
                | BinOp::BitAndAssign(_)
                | BinOp::BitOrAssign(_)
                | BinOp::ShlAssign(_)
                | BinOp::ShrAssign(_),
                _,
            ) => self.assignment(binary, faults),
            _ => self.arithmetic(binary, faults),
        }
    }

    /// Lets an arm of a `match` never be taken.
    fn deletion(&mut self, arm: &Arm) {
        let start = place(arm.span().start());
        let is_here = |fault: &&&Fault| fault.genre == Genre::MatchArm && fault.span.start == start;
        let Some(fault) = self
            .faults
            .iter()
            .find(is_here)
            .map(|fault| Fault::clone(fault))
        else {
            return;
        };
        match &arm.guard {
            None => {
                let text = format!(" if !{}", chosen(&fault));
                self.insert(self.range(&arm.pat).end, text, &[&fault], 0);
            }
            Some((_, guard)) => {
                let before = format!("!{} && (", chosen(&fault));
                self.wrap(&self.range(guard), before, ")".into(), &[&fault]);
            }
        }
    }

    /// The text with all edits.
    fn written(mut self) -> Planted {
        self.edits
            .sort_by_key(|edit| (edit.range.start, edit.range.end, edit.rank));
        let mut planted = Planted {
            text: String::with_capacity(self.text.len() * 2),
            inserted: Vec::new(),
        };
        let mut written = 0;
        for edit in &self.edits {
            // What an assignment takes out may have faults of its own.
            if edit.range.start < written {
                continue;
            }
            planted.text += &self.text[written..edit.range.start];
            let start = planted.text.len();
            planted.text += &edit.text;
            let inserted = start..planted.text.len();
            let of = edit.faults.iter().map(|fault| (*fault, inserted.clone()));
            planted.inserted.extend(of);
            written = edit.range.end;
        }
        planted.text += &self.text[written..];
        planted
    }
}

impl<'ast> Visit<'ast> for Planter<'_> {
    fn visit_item_impl(&mut self, implementation: &'ast ItemImpl) {
        if !features::are_off(&implementation.attrs) {
            visit::visit_item_impl(self, implementation);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !features::are_off(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if features::are_off(&function.attrs) {
            return;
        }
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if features::are_off(&function.attrs) {
            return;
        }
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let faults: Vec<&Fault> = self.at(Genre::BinaryOperator, &binary.op);
        if !faults.is_empty() {
            let faults: Vec<Fault> = faults.into_iter().cloned().collect();
            self.binary(binary, &faults.iter().collect::<Vec<_>>());
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast ExprUnary) {
        let faults = self.at(Genre::UnaryOperator, &unary.op);
        if let ([fault], UnOp::Not(_)) = (faults.as_slice(), unary.op) {
            let fault = Fault::clone(fault);
            let after = format!(") ^ {})", chosen(&fault));
            self.wrap(&self.range(unary), "((".into(), after, &[&fault]);
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, matched: &'ast ExprMatch) {
        // Without such an arm, the others have to be there.
        let takes_the_rest =
            |arm: &Arm| arm.guard.is_none() && matches!(arm.pat, Pat::Wild(_) | Pat::Ident(_));
        if matched.arms.iter().any(takes_the_rest) {
            for arm in matched
                .arms
                .iter()
                .filter(|arm| !features::are_off(&arm.attrs))
            {
                self.deletion(arm);
            }
        }
        visit::visit_expr_match(self, matched);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        if let Some((_, guard)) = &arm.guard {
            let faults: Vec<Fault> = self
                .at(Genre::MatchArmGuard, guard)
                .into_iter()
                .cloned()
                .collect();
            for fault in &faults {
                let before = match fault.replacement.as_str() {
                    "true" => format!("({} || (", chosen(fault)),
                    _ => format!("(!{} && (", chosen(fault)),
                };
                self.wrap(&self.range(guard.as_ref()), before, "))".into(), &[fault]);
            }
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, built: &'ast ExprStruct) {
        for field in &built.fields {
            let faults = self.at(Genre::StructField, field);
            let (Some(fault), Some(rest)) = (faults.first(), &built.rest) else {
                continue;
            };
            let fault = Fault::clone(fault);
            let whole = self.range(built);
            // The other fields, and the rest: what remains without this field.
            let others: Vec<&str> = built
                .fields
                .iter()
                .filter(|other| other.member != field.member)
                .map(|other| &self.text[self.range(other)])
                .chain([&self.text[self.range(rest.as_ref())]])
                .collect();
            let (rest, fields) = others
                .split_last()
                .map_or(("", &[][..]), |(rest, fields)| (*rest, fields));
            let fields: String = fields.iter().map(|field| format!("{field}, ")).collect();
            let name = &self.text[self.range(&built.path)];
            let without = format!("{name} {{ {fields}..{rest} }}").replace('\n', " ");
            let before = format!("(if {} {{ {without} }} else {{ ", chosen(&fault));
            self.wrap(&whole, before, " })".into(), &[&fault]);
        }
        visit::visit_expr_struct(self, built);
    }
}

/// Whether an expression is a chain with `let`, which only a condition may have.
fn has_let(chain: &Expr) -> bool {
    match chain {
        Expr::Let(_) => true,
        Expr::Binary(ExprBinary {
            left,
            op: BinOp::And(_),
            right,
            ..
        }) => has_let(left) || has_let(right),
        _ => false,
    }
}

/// Rust that is true if this fault is chosen.
fn chosen(fault: &Fault) -> String {
    format!("crate::chosen::is({})", fault.number)
}

fn place(at: proc_macro2::LineColumn) -> Place {
    Place {
        line: at.line,
        column: at.column + 1,
    }
}
