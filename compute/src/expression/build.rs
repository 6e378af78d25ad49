//! From the syntax to what is computed: names become arrays, literals take the types of their neighbours, reductions are computed.

use ndarray_io::{DType, DynArray};

use super::functions::{UNARY_FUNCTIONS, Unary};
use super::operations::{Arithmetic, Comparison, Logic, floor_divide};
use super::parse::{Ast, Literal};
use super::plan::{AxisSelection, Node, Operation};
use super::reduce::REDUCTIONS;
use super::types::{Type, default_type, literal_type, promote};
use super::values::{Value, broadcast_shape};
use crate::Source;
use crate::error::{Error, Result};

/// The names of an expression.
pub(crate) struct Names<'a> {
    /// Arrays by their names.
    pub(crate) arrays: Vec<(String, &'a dyn Source)>,
    /// Whether the fields of the first one are names, too.
    pub(crate) has_fields: bool,
    pub(crate) threads: usize,
}

/// A part of an expression.
enum Built<'a> {
    Node(Node<'a>),
    Literal(Literal),
    /// Records, of which a field is named next: the number of the array, and the fields so far.
    Records(usize, Vec<String>),
}

const ARITHMETIC: &[(&str, Arithmetic)] = &[
    ("+", Arithmetic::Add),
    ("-", Arithmetic::Subtract),
    ("*", Arithmetic::Multiply),
    ("/", Arithmetic::Divide),
    ("//", Arithmetic::FloorDivide),
    ("%", Arithmetic::Remainder),
    ("**", Arithmetic::Power),
    ("minimum", Arithmetic::Minimum),
    ("maximum", Arithmetic::Maximum),
    ("hypot", Arithmetic::Hypot),
    ("arctan2", Arithmetic::Arctan2),
];
const COMPARISONS: &[(&str, Comparison)] = &[
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    ("<=", Comparison::LessEqual),
    (">", Comparison::Greater),
    (">=", Comparison::GreaterEqual),
];
const LOGIC: &[(&str, Logic)] = &[
    ("and", Logic::And),
    ("or", Logic::Or),
    ("&", Logic::BitAnd),
    ("|", Logic::BitOr),
    ("^", Logic::BitXor),
];
const OTHER_FUNCTIONS: &[&str] = &["where", "clip", "astype", "reshape", "transpose", "squeeze"];

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, found)| *found)
}

fn wrong<T>(message: impl Into<String>, at: usize) -> Result<T> {
    Err(Error::Syntax { message: message.into(), at })
}

impl<'a> Names<'a> {
    /// Builds an entire expression.
    pub(crate) fn build(&self, ast: &Ast) -> Result<Node<'a>> {
        let built = self.part(ast)?;
        self.node(built)
    }

    /// Returns a part by itself.
    fn node(&self, built: Built<'a>) -> Result<Node<'a>> {
        match built {
            Built::Node(node) => Ok(node),
            Built::Literal(literal) => {
                Ok(Node::constant(Value::of_literal(&literal, default_type(&literal)?)?))
            }
            Built::Records(number, path) => {
                let (dtype, _) = self.records(number, &path)?;
                Err(Type::of(&dtype).err().unwrap_or_else(|| Error::operands("these are records")))
            }
        }
    }

    fn part(&self, ast: &Ast) -> Result<Built<'a>> {
        match ast {
            Ast::Literal(literal) => Ok(Built::Literal(literal.clone())),
            Ast::Name { name, at } => self.name(name, *at),
            Ast::Attribute { of, name, at } => self.attribute(of, name, *at),
            Ast::Index { of, slice: text, at } => match self.part(of)? {
                Built::Records(number, path) => self.named_field(number, path, text, *at),
                of => slice(self.node(of)?, text, *at).map(Built::Node),
            },
            Ast::Call { function, arguments, named, at } => self.call(function, arguments, named, *at),
            Ast::Unary { operator, of, .. } => self.unary(operator, of),
            Ast::Binary { operator, operands, .. } => self.binary(operator, &operands[0], &operands[1]),
        }
    }

    fn name(&self, name: &str, at: usize) -> Result<Built<'a>> {
        if self.has_fields
            && let Some(record) = self.arrays[0].1.dtype().as_record()
            && record.field(name).is_some()
        {
            return self.field(0, vec![name.to_owned()]);
        }
        if let Some(number) = self.arrays.iter().position(|(known, _)| known == name) {
            return self.field(number, Vec::new());
        }
        let mut known: Vec<String> = self.arrays.iter().map(|(known, _)| known.clone()).collect();
        if let (true, Some(record)) = (self.has_fields, self.arrays[0].1.dtype().as_record()) {
            known = record.fields().iter().map(|field| field.name().to_owned()).collect();
        }
        if UNARY_FUNCTIONS.iter().any(|(function, _)| *function == name) {
            return wrong(format!("'{name}' is a function: {name}(…)"), at);
        }
        wrong(format!("there is no '{name}'; there are: {}", known.join(", ")), at)
    }

    /// Returns the dtype of a field of records, and the axes of its elements.
    fn records(&self, number: usize, path: &[String]) -> Result<(DType, Vec<usize>)> {
        let source = self.arrays[number].1;
        if path.is_empty() {
            return Ok((source.dtype().clone(), Vec::new()));
        }
        let none = DynArray::from_bytes(source.dtype().clone(), vec![0], ndarray_io::header::Order::C, &[])?;
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        let field = none.field(ndarray_io::dtype::FieldPath::Names(names))?;
        Ok((field.dtype().clone(), field.shape()[1..].to_vec()))
    }

    fn field(&self, number: usize, path: Vec<String>) -> Result<Built<'a>> {
        let (dtype, inner) = self.records(number, &path)?;
        if dtype.as_record().is_some() {
            return Ok(Built::Records(number, path));
        }
        Ok(Built::Node(Node::leaf(self.arrays[number].1, number, &dtype, path, &inner)?))
    }

    /// Returns the field that `['name']` selects.
    fn named_field(&self, number: usize, mut path: Vec<String>, text: &str, at: usize) -> Result<Built<'a>> {
        let text = text.trim();
        let quoted = ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
        let Some(name) = quoted else {
            return wrong("records have fields: x['name'], and then indices: x['name'][0]", at);
        };
        let (dtype, _) = self.records(number, &path)?;
        if dtype.as_record().is_some_and(|record| record.field(name).is_none()) {
            return wrong(format!("the records have no field '{name}'"), at);
        }
        path.push(name.to_owned());
        self.field(number, path)
    }

    fn attribute(&self, of: &Ast, name: &str, at: usize) -> Result<Built<'a>> {
        let of = match self.part(of)? {
            Built::Records(number, mut path) => {
                let (dtype, _) = self.records(number, &path)?;
                if dtype.as_record().is_some_and(|record| record.field(name).is_none()) {
                    return wrong(format!("the records have no field '{name}'"), at);
                }
                path.push(name.to_owned());
                return self.field(number, path);
            }
            other => self.node(other)?,
        };
        match name {
            "T" => {
                let axes: Vec<usize> = (0..of.shape.len()).rev().collect();
                Ok(Built::Node(permute(of, axes)))
            }
            "real" => unary(Unary::Real, of).map(Built::Node),
            "imag" => unary(Unary::Imag, of).map(Built::Node),
            _ => wrong(format!("'.{name}' is neither a field nor .T, .real or .imag"), at),
        }
    }

    fn unary(&self, operator: &str, of: &Ast) -> Result<Built<'a>> {
        let of = self.part(of)?;
        if let Built::Literal(literal) = &of {
            match (operator, literal) {
                ("-", Literal::Bool(value)) => return Ok(Built::Literal(Literal::Int(-i128::from(*value)))),
                ("-", Literal::Int(number)) => return Ok(Built::Literal(Literal::Int(-number))),
                ("-", Literal::Float(number)) => return Ok(Built::Literal(Literal::Float(-number))),
                ("-", Literal::Complex(re, im)) => return Ok(Built::Literal(Literal::Complex(-re, -im))),
                ("+", _) => return Ok(of),
                _ => {}
            }
        }
        let of = self.node(of)?;
        let operation = match operator {
            "-" => Unary::Negative,
            "~" => Unary::Invert,
            "not" => Unary::Not,
            _ => return Ok(Built::Node(of)),
        };
        unary(operation, of).map(Built::Node)
    }

    fn binary(&self, operator: &str, one: &Ast, two: &Ast) -> Result<Built<'a>> {
        let (one, two) = (self.part(one)?, self.part(two)?);
        if let (Built::Literal(one), Built::Literal(two)) = (&one, &two)
            && let Some(made) = fold(operator, one, two)?
        {
            return Ok(Built::Literal(made));
        }
        self.pair(operator, one, two).map(Built::Node)
    }

    fn pair(&self, operator: &str, one: Built<'a>, two: Built<'a>) -> Result<Node<'a>> {
        if let Some(operation) = find(COMPARISONS, operator) {
            let operands = self.both(one, two, true)?;
            let (one, two) = (&operands[0], &operands[1]);
            let is_signed_pair = one.kind.is_integer() && two.kind.is_integer();
            if !is_signed_pair {
                promote(one.kind, two.kind)?;
            }
            let shape = broadcast_shape(&one.shape, &two.shape)?;
            return Ok(Node {
                kind: Type::Bool,
                shape,
                operation: Operation::Comparison(operation, Box::new(operands)),
            });
        }
        if let Some(operation) = find(LOGIC, operator) {
            let operands = match operation {
                Logic::And | Logic::Or => [self.node(one)?, self.node(two)?],
                _ => self.both(one, two, false)?,
            };
            let kind = operation.result(operands[0].kind, operands[1].kind)?;
            let shape = broadcast_shape(&operands[0].shape, &operands[1].shape)?;
            return Ok(Node { kind, shape, operation: Operation::Logic(operation, Box::new(operands)) });
        }
        let Some(operation) = find(ARITHMETIC, operator) else {
            unreachable!("the parser knows the operators")
        };
        let operands = self.both(one, two, false)?;
        let (_, _, kind) = operation.types(operands[0].kind, operands[1].kind)?;
        let shape = broadcast_shape(&operands[0].shape, &operands[1].shape)?;
        Ok(Node { kind, shape, operation: Operation::Arithmetic(operation, Box::new(operands)) })
    }

    /// Returns two operands; a literal takes the type of the other. Where they are compared, an integer may be out of its range.
    fn both(&self, one: Built<'a>, two: Built<'a>, compares: bool) -> Result<[Node<'a>; 2]> {
        let typed = |literal: Literal, other: Type| -> Result<Node<'a>> {
            let is_int = matches!(literal, Literal::Int(_)) && (other.is_integer() || other == Type::Bool);
            let kind =
                if compares && is_int { default_type(&literal)? } else { literal_type(&literal, other)? };
            Ok(Node::constant(Value::of_literal(&literal, kind)?))
        };
        match (one, two) {
            (Built::Literal(one), Built::Literal(two)) => {
                Ok([self.node(Built::Literal(one))?, self.node(Built::Literal(two))?])
            }
            (Built::Literal(literal), two) => {
                let two = self.node(two)?;
                Ok([typed(literal, two.kind)?, two])
            }
            (one, Built::Literal(literal)) => {
                let one = self.node(one)?;
                let literal = typed(literal, one.kind)?;
                Ok([one, literal])
            }
            (one, two) => Ok([self.node(one)?, self.node(two)?]),
        }
    }

    fn call(
        &self,
        function: &str,
        arguments: &[Ast],
        named: &[(String, Ast)],
        at: usize,
    ) -> Result<Built<'a>> {
        let count = |least: usize, most: usize| match (least..=most).contains(&arguments.len()) {
            true => Ok(()),
            false if least == most => wrong(format!("{function} takes {least} arguments"), at),
            false => wrong(format!("{function} takes {least} to {most} arguments"), at),
        };
        let allows = |allowed: &[&str]| match named.iter().find(|(name, _)| !allowed.contains(&&**name)) {
            Some((name, _)) => wrong(format!("{function} has no argument '{name}'"), at),
            None => Ok(()),
        };
        if let Some(&(_, reduction, skips_nan)) = REDUCTIONS.iter().find(|(name, ..)| *name == function) {
            allows(&["axis"])?;
            count(1, 2)?;
            let of = self.build(&arguments[0])?;
            let axis = named.first().map(|(_, axis)| axis).or(arguments.get(1));
            let axis = match axis.map(|axis| self.integer(axis, at)).transpose()?.flatten() {
                Some(axis) => Some(axis_number(axis, of.shape.len())?),
                None => None,
            };
            return Ok(Built::Node(Node::constant(reduction.of(&of, axis, skips_nan, self.threads)?)));
        }
        if let (Some(_), false) = (find(ARITHMETIC, function), named.iter().any(|_| true)) {
            count(2, 2)?;
            return self.binary(function, &arguments[0], &arguments[1]);
        }
        if let Some(operation) = find(UNARY_FUNCTIONS, function) {
            allows(&[])?;
            if function == "round" && arguments.len() == 2 {
                return self.round(&arguments[0], &arguments[1], at);
            }
            count(1, 1)?;
            return unary(operation, self.build(&arguments[0])?).map(Built::Node);
        }
        allows(&[])?;
        self.other_call(function, arguments, at).map(Built::Node)
    }

    /// Builds a call of a function of several arguments, or of the shape.
    fn other_call(&self, function: &str, arguments: &[Ast], at: usize) -> Result<Node<'a>> {
        let wanted = match function {
            "where" | "clip" => 3..=3,
            "astype" => 2..=2,
            "squeeze" => 1..=1,
            "reshape" => 2..=usize::MAX,
            "transpose" => 1..=usize::MAX,
            _ => return wrong(unknown_function(function), at),
        };
        if !wanted.contains(&arguments.len()) {
            return wrong(format!("{function} takes {} arguments", wanted.start()), at);
        }
        if function == "clip" {
            let mut made = self.part(&arguments[0])?;
            for (limit, operator) in [(&arguments[1], "maximum"), (&arguments[2], "minimum")] {
                match self.part(limit)? {
                    Built::Literal(Literal::None) => {}
                    limit => made = Built::Node(self.pair(operator, made, limit)?),
                }
            }
            return self.node(made);
        }
        let of = self.build(&arguments[0])?;
        match function {
            "where" => choice(of, self.both(self.part(&arguments[1])?, self.part(&arguments[2])?, false)?),
            "astype" => {
                let name = match &arguments[1] {
                    Ast::Literal(Literal::Text(name)) | Ast::Name { name, .. } => name,
                    _ => return wrong("astype takes a dtype: astype(x, 'f4')", at),
                };
                let Some(kind) = dtype_name(name) else {
                    return wrong(format!("'{name}' is not a dtype that expressions have"), at);
                };
                convert(of, kind)
            }
            "reshape" => self.reshape(of, &arguments[1..], at),
            "transpose" => {
                let axes = match arguments.len() {
                    1 => (0..of.shape.len()).rev().collect(),
                    _ => self.axes(&of, &arguments[1..], at)?,
                };
                Ok(permute(of, axes))
            }
            _ => {
                let shape = of.shape.iter().copied().filter(|length| *length != 1).collect();
                Ok(reshape(of, shape))
            }
        }
    }

    fn axes(&self, of: &Node<'a>, arguments: &[Ast], at: usize) -> Result<Vec<usize>> {
        let mut axes = Vec::new();
        for argument in arguments {
            let axis = self
                .integer(argument, at)?
                .ok_or_else(|| Error::Syntax { message: "expected an axis".into(), at })?;
            axes.push(axis_number(axis, of.shape.len())?);
        }
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        match sorted.iter().copied().eq(0..of.shape.len()) {
            true => Ok(axes),
            false => Err(Error::operands(format!(
                "the axes of a transpose are each of 0 to {} once",
                of.shape.len().saturating_sub(1)
            ))),
        }
    }

    fn reshape(&self, of: Node<'a>, arguments: &[Ast], at: usize) -> Result<Node<'a>> {
        let mut lengths = Vec::new();
        for argument in arguments {
            lengths.push(
                self.integer(argument, at)?
                    .ok_or_else(|| Error::Syntax { message: "expected a length".into(), at })?,
            );
        }
        let shape = reshaped(&of.shape, &lengths)?;
        Ok(reshape(of, shape))
    }

    fn round(&self, of: &Ast, digits: &Ast, at: usize) -> Result<Built<'a>> {
        let of = self.build(of)?;
        let digits = self
            .integer(digits, at)?
            .ok_or_else(|| Error::Syntax { message: "expected a number of digits".into(), at })?;
        if of.kind.is_integer() && digits >= 0 || of.kind == Type::Bool {
            return Ok(Built::Node(of));
        }
        // As NumPy does: scaled, rounded, scaled back.
        let factor = 10f64.powi(digits.unsigned_abs().min(400) as i32);
        let (kind, factor) = (of.kind, || Built::Literal(Literal::Float(factor)));
        let (there, back) = if digits >= 0 { ("*", "/") } else { ("/", "*") };
        let scaled = unary(Unary::Rint, self.pair(there, Built::Node(of), factor())?)?;
        Ok(Built::Node(convert(self.pair(back, Built::Node(scaled), factor())?, kind)?))
    }

    /// Returns an integer that is written out; `None` for `None`.
    fn integer(&self, ast: &Ast, at: usize) -> Result<Option<i128>> {
        match self.part(ast)? {
            Built::Literal(Literal::Int(number)) => Ok(Some(number)),
            Built::Literal(Literal::None) => Ok(None),
            _ => wrong("expected an integer", at),
        }
    }
}

fn unknown_function(function: &str) -> String {
    let names = UNARY_FUNCTIONS.iter().map(|(name, _)| *name);
    let names = names.chain(REDUCTIONS.iter().map(|(name, ..)| *name)).chain(OTHER_FUNCTIONS.iter().copied());
    let names = names.chain(ARITHMETIC.iter().map(|(name, _)| *name).filter(|name| name.len() > 2));
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    format!("there is no function '{function}'; there are: {}", names.join(", "))
}

fn unary(operation: Unary, of: Node<'_>) -> Result<Node<'_>> {
    let kind = operation.result(of.kind)?;
    Ok(Node { kind, shape: of.shape.clone(), operation: Operation::Unary(operation, Box::new(of)) })
}

fn convert(of: Node<'_>, kind: Type) -> Result<Node<'_>> {
    if of.kind == kind {
        return Ok(of);
    }
    if of.kind == Type::Text || of.kind.is_time() && !(kind.is_time() || matches!(kind, Type::Int(64))) {
        return Err(Error::operands(format!(
            "{} does not become {kind} here: ndio convert --dtype",
            of.kind
        )));
    }
    Ok(Node { kind, shape: of.shape.clone(), operation: Operation::Convert(Box::new(of)) })
}

fn choice<'a>(condition: Node<'a>, [one, two]: [Node<'a>; 2]) -> Result<Node<'a>> {
    let kind = promote(one.kind, two.kind)?;
    let shape = broadcast_shape(&condition.shape, &broadcast_shape(&one.shape, &two.shape)?)?;
    let operands = [condition, convert(one, kind)?, convert(two, kind)?];
    Ok(Node { kind, shape, operation: Operation::Where(Box::new(operands)) })
}

fn permute(of: Node<'_>, axes: Vec<usize>) -> Node<'_> {
    let shape = axes.iter().map(|axis| of.shape[*axis]).collect();
    Node { kind: of.kind, shape, operation: Operation::Permute(axes, Box::new(of)) }
}

fn reshape(of: Node<'_>, shape: Vec<usize>) -> Node<'_> {
    Node { kind: of.kind, shape, operation: Operation::Reshape(Box::new(of)) }
}

fn slice<'a>(of: Node<'a>, text: &str, at: usize) -> Result<Node<'a>> {
    use ndarray::SliceInfoElem;
    let wrong = |message: String| Error::Syntax { message, at };
    let elements =
        ndarray_io::file::parse_slice(text, &of.shape).map_err(|error| wrong(error.to_string()))?;
    let (mut taken, mut shape) = (Vec::new(), Vec::new());
    for (element, length) in elements.into_iter().zip(&of.shape) {
        taken.push(match element {
            SliceInfoElem::Index(index) => {
                let from_start = if index < 0 { index + *length as isize } else { index };
                let index = usize::try_from(from_start).ok().filter(|index| index < length);
                AxisSelection::Index(index.ok_or_else(|| {
                    wrong(format!("index {from_start} is out of bounds for a length of {length}"))
                })?)
            }
            SliceInfoElem::Slice { start, end, step } => {
                // `parse_slice` returns bounds that are within the axis.
                let end = end.unwrap_or(*length as isize);
                let span = usize::try_from(end - start).unwrap_or(0);
                shape.push(span.div_ceil(step.unsigned_abs()));
                AxisSelection::Stepped(if step < 0 { (end - 1).max(0) } else { start } as usize, step)
            }
            SliceInfoElem::NewAxis => return Err(wrong("a slice cannot add an axis".into())),
        });
    }
    Ok(Node { kind: of.kind, shape, operation: Operation::Slice(taken, Box::new(of)) })
}

/// Returns the number of an axis, of which a negative one counts from the last.
///
/// # Errors
///
/// [`Error::Operands`] if there is no such axis.
pub fn axis_number(axis: i128, count: usize) -> Result<usize> {
    let from_end = if axis < 0 { axis + count as i128 } else { axis };
    match usize::try_from(from_end) {
        Ok(axis) if axis < count => Ok(axis),
        _ => Err(Error::operands(format!("there is no axis {axis}: the array has {count}, numbered from 0"))),
    }
}

/// Returns the shape of a reshape, of which one length may be -1.
pub(crate) fn reshaped(shape: &[usize], lengths: &[i128]) -> Result<Vec<usize>> {
    let count: u128 = shape.iter().map(|length| *length as u128).product();
    let known = lengths
        .iter()
        .filter(|length| **length != -1)
        .try_fold(1u128, |all, length| all.checked_mul(u128::try_from(*length).ok()?));
    let open = lengths.iter().filter(|length| **length == -1).count();
    let text = lengths.iter().map(i128::to_string).collect::<Vec<_>>().join(", ");
    let wrong = || Error::operands(format!("{count} elements do not have the shape ({text})"));
    let known = known.ok_or_else(wrong)?;
    let rest = match (open, known) {
        (0, _) if known == count => 1,
        (1, 1..) if count.is_multiple_of(known) => count / known,
        _ => return Err(wrong()),
    };
    let length = |length: &i128| {
        usize::try_from(if *length == -1 { rest } else { *length as u128 }).map_err(|_| wrong())
    };
    lengths.iter().map(length).collect()
}

fn dtype_name(name: &str) -> Option<Type> {
    let dtype: DType = match name {
        "bool" => "?".parse().ok()?,
        "int" => "i8".parse().ok()?,
        "float" => "f8".parse().ok()?,
        "complex" => "c16".parse().ok()?,
        _ => name.parse().ok()?,
    };
    Type::of(&dtype).ok().filter(|kind| *kind != Type::Text)
}

/// Computes with two literals, which stay one.
fn fold(operator: &str, one: &Literal, two: &Literal) -> Result<Option<Literal>> {
    // In Python, bools are integers.
    let int = |literal: &Literal| match literal {
        Literal::Bool(value) => Some(i128::from(*value)),
        Literal::Int(number) => Some(*number),
        _ => None,
    };
    if let (Some(a), Some(b)) = (int(one), int(two)) {
        return fold_integers(operator, a, b);
    }
    if matches!(one, Literal::Complex(..)) || matches!(two, Literal::Complex(..)) {
        let number = |literal: &Literal| match *literal {
            Literal::Bool(value) => Some(num_complex::Complex::from(f64::from(u8::from(value)))),
            Literal::Int(number) => Some(num_complex::Complex::from(number as f64)),
            Literal::Float(number) => Some(num_complex::Complex::from(number)),
            Literal::Complex(re, im) => Some(num_complex::Complex::new(re, im)),
            _ => None,
        };
        let (Some(a), Some(b)) = (number(one), number(two)) else { return Ok(None) };
        let made = match operator {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" => a / b,
            _ => return Ok(None),
        };
        return Ok(Some(Literal::Complex(made.re, made.im)));
    }
    let number = |literal: &Literal| match literal {
        Literal::Bool(value) => Some(f64::from(u8::from(*value))),
        Literal::Int(number) => Some(*number as f64),
        Literal::Float(number) => Some(*number),
        _ => None,
    };
    let (Some(a), Some(b)) = (number(one), number(two)) else { return Ok(None) };
    Ok(Some(Literal::Float(match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" | "//" | "%" if b == 0.0 => return Err(Error::operands("division by zero")),
        "/" => a / b,
        "**" => a.powf(b),
        "//" => floor_divide(a, b).0,
        "%" => floor_divide(a, b).1,
        _ => return Ok(compared(operator, a.partial_cmp(&b))),
    })))
}

fn compared(operator: &str, order: Option<std::cmp::Ordering>) -> Option<Literal> {
    Some(Literal::Bool(find(COMPARISONS, operator)?.holds(order)))
}

/// Computes with two integers, as Python does.
fn fold_integers(operator: &str, a: i128, b: i128) -> Result<Option<Literal>> {
    let rest =
        || a.checked_rem(b).map(|rest| if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest });
    let made = match operator {
        "/" | "//" | "%" if b == 0 => return Err(Error::operands("division by zero")),
        "/" => return Ok(Some(Literal::Float(a as f64 / b as f64))),
        "**" if b < 0 => return Ok(Some(Literal::Float((a as f64).powf(b as f64)))),
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "**" => u32::try_from(b).ok().and_then(|power| a.checked_pow(power)),
        "//" => rest().and_then(|rest| (a - rest).checked_div(b)),
        "%" => rest(),
        "&" => Some(a & b),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        _ => return Ok(compared(operator, Some(a.cmp(&b)))),
    };
    let made = made.ok_or_else(|| {
        Error::operands(format!("{a} {operator} {b} has more than 127 bits: write a float"))
    })?;
    Ok(Some(Literal::Int(made)))
}
