//! Names that differ between Python 2 and Python 3, in both directions.
//!
//! The tables are those of Python's module `_compat_pickle`, which `pickle` uses for protocols 0 to 2.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Returns the Python 3 name for a name in a pickle of protocols 0 to 2.
pub(crate) fn python_3_name<'a>(module: &'a str, name: &'a str) -> (&'a str, &'a str) {
    TABLES.0.translate(module, name)
}

/// Returns the Python 2 name, for a pickle of protocols 0 to 2.
pub(super) fn python_2_name<'a>(module: &'a str, name: &'a str) -> (&'a str, &'a str) {
    TABLES.1.translate(module, name)
}

#[derive(Default)]
struct Table {
    modules: HashMap<&'static str, &'static str>,
    names: HashMap<(&'static str, &'static str), (&'static str, &'static str)>,
}

/// From Python 2 to Python 3, and back.
static TABLES: LazyLock<(Table, Table)> = LazyLock::new(|| {
    let mut tables = (Table::default(), Table::default());
    let parts = |line: &'static str| (&line[..1], line[2..].split(' '));
    // Python 2, then Python 3; one word if both are the same.
    let pair = |words: &'static str| words.split_once(':').unwrap_or((words, words));
    for (direction, words) in RENAMED_MODULES.lines().map(parts) {
        for (old, new) in words.map(pair) {
            if direction != "<" {
                tables.0.modules.insert(old, new);
            }
            if direction != ">" {
                tables.1.modules.insert(new, old);
            }
        }
    }
    for (direction, mut words) in RENAMED_NAMES.lines().map(parts) {
        let (old_module, new_module) = pair(words.next().unwrap_or_default());
        for (old, new) in words.map(pair) {
            if direction != "<" {
                tables.0.names.insert((old_module, old), (new_module, new));
            }
            if direction != ">" {
                tables.1.names.insert((new_module, new), (old_module, old));
            }
        }
    }
    tables
});

impl Table {
    fn translate<'a>(&self, module: &'a str, name: &'a str) -> (&'a str, &'a str) {
        // Names are looked up first: some moved to a different module than the rest of their old module.
        match self.names.get(&(module, name)) {
            Some(new) => *new,
            None => (self.modules.get(module).copied().unwrap_or(module), name),
        }
    }
}

/// Modules, `Python 2:Python 3`. Lines begin with `=` for both directions, `>` for new names only, and `<` for old names only.
const RENAMED_MODULES: &str = "\
< bz2:_bz2 dbm:_dbm functools:_functools gdbm:_gdbm pickle:_pickle
= BaseHTTPServer:http.server ConfigParser:configparser Cookie:http.cookies Dialog:tkinter.dialog
= HTMLParser:html.parser Queue:queue ScrolledText:tkinter.scrolledtext SimpleXMLRPCServer:xmlrpc.server
= SocketServer:socketserver Tix:tkinter.tix Tkconstants:tkinter.constants Tkdnd:tkinter.dnd Tkinter:tkinter
= __builtin__:builtins _abcoll:collections.abc _winreg:winreg anydbm:dbm commands:subprocess
= cookielib:http.cookiejar copy_reg:copyreg dbhash:dbm.bsd dbm:dbm.ndbm dumbdbm:dbm.dumb
= dummy_thread:_dummy_thread gdbm:dbm.gnu htmlentitydefs:html.entities httplib:http.client markupbase:_markupbase
= repr:reprlib robotparser:urllib.robotparser test.test_support:test.support thread:_thread
= tkColorChooser:tkinter.colorchooser tkCommonDialog:tkinter.commondialog tkFileDialog:tkinter.filedialog
= tkFont:tkinter.font tkMessageBox:tkinter.messagebox tkSimpleDialog:tkinter.simpledialog ttk:tkinter.ttk
= urllib2:urllib.request urlparse:urllib.parse xmlrpclib:xmlrpc.client
> CGIHTTPServer:http.server DocXMLRPCServer:xmlrpc.server FileDialog:tkinter.filedialog
> SimpleDialog:tkinter.simpledialog SimpleHTTPServer:http.server StringIO:io UserDict:collections
> UserList:collections UserString:collections _elementtree:xml.etree.ElementTree cPickle:pickle cStringIO:io
> whichdb:dbm";

/// Names, after the module that has them.
const RENAMED_NAMES: &str = "\
< CGIHTTPServer:http.server CGIHTTPRequestHandler
< DocXMLRPCServer:xmlrpc.server DocCGIXMLRPCRequestHandler DocXMLRPCRequestHandler DocXMLRPCServer ServerHTMLDoc XMLRPCDocGenerator
< FileDialog:tkinter.filedialog FileDialog LoadFileDialog SaveFileDialog
< SimpleDialog:tkinter.simpledialog SimpleDialog
< SimpleHTTPServer:http.server SimpleHTTPRequestHandler
= UserDict:collections IterableUserDict:UserDict
> UserDict:collections UserDict
= UserList:collections UserList
= UserString:collections UserString
< __builtin__:_functools reduce
= __builtin__:builtins long:int unichr:chr unicode:str xrange:range
> __builtin__:builtins basestring:str
= __builtin__:functools reduce
= __builtin__:sys intern
= _multiprocessing:multiprocessing.connection Connection
= _socket:socket fromfd
< exceptions:builtins OSError:BrokenPipeError OSError:ChildProcessError OSError:ConnectionAbortedError OSError:ConnectionError
< exceptions:builtins OSError:ConnectionRefusedError OSError:ConnectionResetError OSError:FileExistsError OSError:FileNotFoundError
< exceptions:builtins OSError:InterruptedError OSError:IsADirectoryError ImportError:ModuleNotFoundError OSError:NotADirectoryError
< exceptions:builtins OSError:PermissionError OSError:ProcessLookupError OSError:TimeoutError
= exceptions:builtins ArithmeticError AssertionError AttributeError BaseException BufferError BytesWarning DeprecationWarning EOFError
= exceptions:builtins EnvironmentError Exception FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning
= exceptions:builtins IndentationError IndexError KeyError KeyboardInterrupt LookupError MemoryError NameError NotImplementedError
= exceptions:builtins OSError OverflowError PendingDeprecationWarning ReferenceError RuntimeError RuntimeWarning StopIteration
= exceptions:builtins SyntaxError SyntaxWarning SystemError SystemExit TabError TypeError UnboundLocalError UnicodeDecodeError
= exceptions:builtins UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning
= exceptions:builtins ZeroDivisionError
> exceptions:builtins StandardError:Exception
= itertools:builtins ifilter:filter imap:map izip:zip
= itertools ifilterfalse:filterfalse izip_longest:zip_longest
= multiprocessing:multiprocessing.context AuthenticationError BufferTooShort ProcessError TimeoutError
= multiprocessing.forking:multiprocessing.popen_fork Popen
= multiprocessing.process:multiprocessing.context Process
< socket:_socket _socketobject:socket
> socket _socketobject:SocketType
= urllib:urllib.error ContentTooShortError
= urllib:urllib.parse quote quote_plus unquote unquote_plus urlencode
= urllib:urllib.request getproxies pathname2url url2pathname urlcleanup urlopen urlretrieve
= urllib2:urllib.error HTTPError URLError
= whichdb:dbm whichdb";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_2_and_3_names_map_both_ways() {
        // The lengths of Python's four tables.
        let lengths = |table: &Table| (table.modules.len(), table.names.len());
        assert_eq!((lengths(&TABLES.0), lengths(&TABLES.1)), ((55, 88), (47, 112)));
        assert_eq!(python_3_name("__builtin__", "xrange"), ("builtins", "range"));
        assert_eq!(python_3_name("exceptions", "ValueError"), ("builtins", "ValueError"));
        assert_eq!(python_3_name("copy_reg", "_reconstructor"), ("copyreg", "_reconstructor"));
        assert_eq!(python_2_name("builtins", "int"), ("__builtin__", "long"));
        assert_eq!(python_2_name("builtins", "ValueError"), ("exceptions", "ValueError"));
        assert_eq!(python_2_name("collections", "OrderedDict"), ("collections", "OrderedDict"));
    }
}
