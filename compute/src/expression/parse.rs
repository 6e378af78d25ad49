//! The syntax: that of Python's expressions, as far as it is about arrays.

use crate::error::{Error, Result};

/// Arguments that are given by name.
type NamedArguments = Vec<(String, Ast)>;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ast {
    Literal(Literal),
    Name {
        name: String,
        at: usize,
    },
    /// `x.T`, `x.real`, or a field of records.
    Attribute {
        of: Box<Ast>,
        name: String,
        at: usize,
    },
    /// `x[1:, 0]`: the text within the brackets.
    Index {
        of: Box<Ast>,
        slice: String,
        at: usize,
    },
    Call {
        function: String,
        arguments: Vec<Ast>,
        named: NamedArguments,
        at: usize,
    },
    Unary {
        operator: &'static str,
        of: Box<Ast>,
        at: usize,
    },
    Binary {
        operator: &'static str,
        operands: Box<[Ast; 2]>,
        at: usize,
    },
}

impl Ast {
    /// Returns how many operations there are in it.
    fn operations(&self) -> usize {
        match self {
            Self::Literal(_) | Self::Name { .. } => 1,
            Self::Attribute { of, .. } | Self::Index { of, .. } | Self::Unary { of, .. } => {
                1 + of.operations()
            }
            Self::Binary { operands, .. } => 1 + operands.iter().map(Self::operations).sum::<usize>(),
            Self::Call { arguments, named, .. } => {
                let named = named.iter().map(|(_, argument)| argument);
                1 + arguments.iter().chain(named).map(Self::operations).sum::<usize>()
            }
        }
    }
}

/// A number or a text that is written out. Numbers take the dtype of what they are combined with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Bool(bool),
    Int(i128),
    Float(f64),
    /// The real and the imaginary part.
    Complex(f64, f64),
    Text(String),
    None,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Literal(Literal),
    Name(String),
    Symbol(&'static str),
    End,
}

/// From the loosest to the tightest: the operators of each level, which associate to the left.
const BINARY_LEVELS: &[&[&str]] = &[
    &["or"],
    &["and"],
    &["not"],
    &["==", "!=", "<=", ">=", "<", ">"],
    &["|"],
    &["^"],
    &["&"],
    &["+", "-"],
    &["*", "//", "/", "%"],
];
/// Longer symbols come first.
const SYMBOLS: &[&str] = &[
    "**", "//", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "(", ")", ",", "=",
    "|", "^", "&", "~", ".", "!", "[", "]", ":",
];
const NOT_LEVEL: usize = 2;
const COMPARISON_LEVEL: usize = 3;
/// How deep expressions may be nested: the parser and what follows recurse.
const MAX_DEPTH: usize = 60;
/// A chain of operators is a tree that is as deep as it is long.
const MAX_OPERATIONS: usize = 200;

pub(super) fn parse(text: &str) -> Result<Ast> {
    let tokens = tokens(text)?;
    let mut parser = Parser { chars: text.chars().collect(), tokens, next: 0, depth: 0, operations: 0 };
    let parsed = parser.binary(0)?;
    match parser.peek() {
        Token::End => Ok(parsed),
        _ => Err(parser.unexpected("an operator")),
    }
}

fn tokens(text: &str) -> Result<Vec<(Token, usize)>> {
    let chars: Vec<char> = text.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&char) = chars.get(at) {
        let begin = at;
        let token = match char {
            _ if char.is_whitespace() => {
                at += 1;
                continue;
            }
            '0'..='9' => number(&chars, &mut at)?,
            '.' if chars.get(at + 1).is_some_and(char::is_ascii_digit) => number(&chars, &mut at)?,
            '\'' | '"' => quoted(&chars, &mut at)?,
            _ if char.is_alphabetic() || char == '_' => {
                while chars.get(at).is_some_and(|char| char.is_alphanumeric() || *char == '_') {
                    at += 1;
                }
                word(chars[begin..at].iter().collect())
            }
            _ => {
                let rest: String = chars[at..].iter().take(2).collect();
                let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
                let symbol =
                    symbol.ok_or_else(|| Error::Syntax { message: format!("unexpected {char:?}"), at })?;
                at += symbol.len();
                Token::Symbol(match *symbol {
                    "&&" => "and",
                    "||" => "or",
                    "!" => "not",
                    symbol => symbol,
                })
            }
        };
        tokens.push((token, begin));
    }
    tokens.push((Token::End, at));
    Ok(tokens)
}

fn word(name: String) -> Token {
    Token::Literal(match &*name {
        "and" => return Token::Symbol("and"),
        "or" => return Token::Symbol("or"),
        "not" => return Token::Symbol("not"),
        "True" | "true" => Literal::Bool(true),
        "False" | "false" => Literal::Bool(false),
        "None" => Literal::None,
        "nan" | "NaN" => Literal::Float(f64::NAN),
        "inf" | "Infinity" => Literal::Float(f64::INFINITY),
        "pi" => Literal::Float(std::f64::consts::PI),
        _ => return Token::Name(name),
    })
}

fn number(chars: &[char], at: &mut usize) -> Result<Token> {
    let begin = *at;
    let is_hex = chars[begin] == '0' && matches!(chars.get(begin + 1), Some('x' | 'X'));
    let mut is_float = false;
    if is_hex {
        *at += 2;
    }
    while let Some(&char) = chars.get(*at) {
        let follows_e = !is_hex && *at > begin && matches!(chars[*at - 1], 'e' | 'E');
        match char {
            '_' => {}
            _ if is_hex && char.is_ascii_hexdigit() || char.is_ascii_digit() => {}
            '.' | 'e' | 'E' if !is_hex => is_float = true,
            '+' | '-' if follows_e => {}
            _ => break,
        }
        *at += 1;
    }
    let digits: String = chars[begin..*at].iter().filter(|char| **char != '_').collect();
    let wrong = |_| Error::Syntax { message: format!("{digits} is not a number"), at: begin };
    let is_imaginary = matches!(chars.get(*at), Some('j' | 'J'));
    let literal = if is_imaginary {
        *at += 1;
        Literal::Complex(0.0, digits.parse().map_err(|_| wrong(()))?)
    } else if is_float {
        Literal::Float(digits.parse().map_err(|_| wrong(()))?)
    } else if is_hex {
        Literal::Int(i128::from_str_radix(&digits[2..], 16).map_err(|_| wrong(()))?)
    } else {
        Literal::Int(digits.parse().map_err(|_| wrong(()))?)
    };
    Ok(Token::Literal(literal))
}

fn quoted(chars: &[char], at: &mut usize) -> Result<Token> {
    let (begin, quote) = (*at, chars[*at]);
    let mut text = String::new();
    loop {
        *at += 1;
        match chars.get(*at) {
            None => return Err(Error::Syntax { message: "the text has no end".into(), at: begin }),
            Some(char) if *char == quote => break,
            Some('\\') => {
                *at += 1;
                text.extend(chars.get(*at));
            }
            Some(char) => text.push(*char),
        }
    }
    *at += 1;
    Ok(Token::Literal(Literal::Text(text)))
}

struct Parser {
    chars: Vec<char>,
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: usize,
    operations: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn position(&self) -> usize {
        self.tokens[self.next].1
    }

    fn take(&mut self) -> Token {
        let token = self.tokens[self.next].0.clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let is_next = matches!(self.peek(), Token::Symbol(next) if *next == symbol);
        if is_next {
            self.next += 1;
        }
        is_next
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.takes(symbol) { Ok(()) } else { Err(self.unexpected(&format!("'{symbol}'"))) }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.peek() {
            Token::Literal(Literal::Text(text)) => format!("the text '{text}'"),
            Token::Literal(_) => "a number".into(),
            Token::Name(name) => format!("'{name}'"),
            Token::Symbol(symbol) => format!("'{symbol}'"),
            Token::End => "the end".into(),
        };
        Error::Syntax { message: format!("expected {wanted}, found {found}"), at: self.position() }
    }

    fn count_operation(&mut self) -> Result<()> {
        self.operations += 1;
        match self.operations > MAX_OPERATIONS {
            true => Err(Error::Syntax {
                message: format!("an expression has at most {MAX_OPERATIONS} operations"),
                at: self.position(),
            }),
            false => Ok(()),
        }
    }

    /// Parses what is within something else: one operation more.
    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Result<Ast>) -> Result<Ast> {
        self.count_operation()?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::Syntax {
                message: "the expression is nested too deeply".into(),
                at: self.position(),
            });
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Parses operators of this level and of those that are tighter.
    fn binary(&mut self, least: usize) -> Result<Ast> {
        let at = self.position();
        let mut left = match least <= NOT_LEVEL && self.takes("not") {
            true => Ast::Unary {
                operator: "not",
                of: Box::new(self.nested(|parser| parser.binary(NOT_LEVEL))?),
                at,
            },
            false => self.unary()?,
        };
        // The operand that `a < b < c` compares twice.
        let mut middle: Option<Ast> = None;
        while let Token::Symbol(symbol) = self.peek() {
            let level = BINARY_LEVELS.iter().position(|operators| operators.contains(symbol));
            let Some(level) = level.filter(|level| *level >= least && *level != NOT_LEVEL) else { break };
            let (operator, at) = (*symbol, self.position());
            self.next += 1;
            let right = self.nested(|parser| parser.binary(level + 1))?;
            let is_comparison = level == COMPARISON_LEVEL;
            let both =
                |left: Ast, right: Ast| Ast::Binary { operator, operands: Box::new([left, right]), at };
            left = match middle.take().filter(|_| is_comparison) {
                Some(middle) => {
                    self.operations += middle.operations();
                    self.count_operation()?;
                    let second = both(middle, right.clone());
                    Ast::Binary { operator: "and", operands: Box::new([left, second]), at }
                }
                None => both(left, right.clone()),
            };
            middle = is_comparison.then_some(right);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Ast> {
        let at = self.position();
        let operator = match self.peek() {
            Token::Symbol(symbol @ ("-" | "+" | "~")) => *symbol,
            _ => return self.power(),
        };
        self.next += 1;
        let of = Box::new(self.nested(Self::unary)?);
        Ok(Ast::Unary { operator, of, at })
    }

    /// `**` is tighter than a sign on its left, and associates to the right.
    fn power(&mut self) -> Result<Ast> {
        let base = self.postfix()?;
        let at = self.position();
        match self.takes("**") {
            true => {
                Ok(Ast::Binary { operator: "**", operands: Box::new([base, self.nested(Self::unary)?]), at })
            }
            false => Ok(base),
        }
    }

    fn postfix(&mut self) -> Result<Ast> {
        let mut parsed = self.atom()?;
        loop {
            let at = self.position();
            if self.takes("[") {
                self.count_operation()?;
                parsed = Ast::Index { of: Box::new(parsed), slice: self.slice_text()?, at };
                continue;
            }
            if !self.takes(".") {
                return Ok(parsed);
            }
            self.count_operation()?;
            let at = self.position();
            let Token::Name(name) = self.take() else {
                self.next -= 1;
                return Err(self.unexpected("a name"));
            };
            parsed = match self.takes("(") {
                true => {
                    let (mut arguments, named) = self.arguments()?;
                    arguments.insert(0, parsed);
                    Ast::Call { function: name, arguments, named, at }
                }
                false => Ast::Attribute { of: Box::new(parsed), name, at },
            };
        }
    }

    /// Returns the text up to the closing bracket.
    fn slice_text(&mut self) -> Result<String> {
        let begin = self.position();
        while !self.takes("]") {
            if *self.peek() == Token::End {
                return Err(self.unexpected("']'"));
            }
            self.next += 1;
        }
        let end = self.tokens[self.next - 1].1;
        Ok(self.chars[begin..end].iter().collect())
    }

    fn atom(&mut self) -> Result<Ast> {
        let at = self.position();
        match self.take() {
            Token::Literal(literal) => Ok(Ast::Literal(literal)),
            Token::Name(function) if self.takes("(") => {
                let (arguments, named) = self.arguments()?;
                Ok(Ast::Call { function, arguments, named, at })
            }
            Token::Name(name) => Ok(Ast::Name { name, at }),
            Token::Symbol("(") => {
                let within = self.nested(|parser| parser.binary(0))?;
                self.expect(")")?;
                Ok(within)
            }
            _ => {
                self.next = self.tokens.iter().position(|(_, place)| *place == at).unwrap_or(self.next);
                Err(self.unexpected("a value"))
            }
        }
    }

    /// Parses arguments up to the closing parenthesis. A tuple or a list counts as its items: `reshape(x, (2, 3))`.
    fn arguments(&mut self) -> Result<(Vec<Ast>, NamedArguments)> {
        let (mut arguments, mut named) = (Vec::new(), Vec::new());
        while !self.takes(")") {
            let name = match (self.peek(), self.tokens.get(self.next + 1)) {
                (Token::Name(name), Some((Token::Symbol("="), _))) => Some(name.clone()),
                _ => None,
            };
            if let Some(name) = name {
                self.next += 2;
                named.push((name, self.nested(|parser| parser.binary(0))?));
            } else if let Some(items) = self.list()? {
                arguments.extend(items);
            } else {
                arguments.push(self.nested(|parser| parser.binary(0))?);
            }
            if !self.takes(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok((arguments, named))
    }

    /// Parses a list or a tuple of signed integers, if one comes next.
    fn list(&mut self) -> Result<Option<Vec<Ast>>> {
        let begin = self.next;
        let close = match self.peek() {
            Token::Symbol("(") => ")",
            Token::Symbol("[") => "]",
            _ => return Ok(None),
        };
        self.next += 1;
        let mut items = Vec::new();
        let mut has_comma = close == "]";
        while !self.takes(close) {
            let sign = self.takes("-");
            let Token::Literal(Literal::Int(number)) = *self.peek() else {
                if close == "]" {
                    return Err(self.unexpected("an integer"));
                }
                self.next = begin;
                return Ok(None);
            };
            self.next += 1;
            items.push(Ast::Literal(Literal::Int(if sign { -number } else { number })));
            let is_comma = self.takes(",");
            has_comma |= is_comma;
            if !is_comma && !matches!(self.peek(), Token::Symbol(next) if *next == close) {
                self.next = begin;
                return Ok(None);
            }
        }
        if has_comma || items.is_empty() {
            return Ok(Some(items));
        }
        self.next = begin; // an expression in parentheses
        Ok(None)
    }
}
