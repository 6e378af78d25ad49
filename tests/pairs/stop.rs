//! Processes that are stopped before one of their system calls, with ptrace.

use std::path::Path;
use std::process::Child;

use crate::act::{MARK_ARGUMENT, is_program_command, start_child, wait_for_result};

/// Waits until a traced child stops; returns `None` if it has exited.
pub(crate) fn wait_for_stop(child: &Child) -> Option<i32> {
    let mut status = 0;
    // SAFETY: the status lives until the call returns.
    let waited = unsafe { libc::waitpid(child.id() as i32, &raw mut status, 0) };
    assert!(waited > 0);
    libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status))
}

pub(crate) fn ptrace_request(request: libc::c_uint, child: &Child, data: usize) {
    // SAFETY: this thread traces the child, which is stopped.
    let result = unsafe { libc::ptrace(request, child.id() as i32, 0, data) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Returns the registers of a stopped child.
pub(crate) fn registers(child: &Child) -> libc::user_regs_struct {
    // SAFETY: the structure consists of numbers, for which zero is valid.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the child is stopped, and the structure lives until the call returns.
    unsafe { libc::ptrace(libc::PTRACE_GETREGS, child.id() as i32, 0, &raw mut registers) };
    registers
}

/// Returns the number of the system call that a child is about to make, and its first argument.
pub(crate) fn current_call(child: &Child) -> (i64, u64) {
    let registers = registers(child);
    (registers.orig_rax as i64, registers.rdi)
}

/// Lets a child run until the exit of the current call or the entry of the next; `false` if it has exited.
pub(crate) fn run_to_next_stop(child: &Child) -> bool {
    loop {
        ptrace_request(libc::PTRACE_SYSCALL, child, 0);
        match wait_for_stop(child) {
            None => return false,
            Some(signal) if signal == libc::SIGTRAP | 0x80 => return true,
            Some(_) => {}
        }
    }
}

pub(crate) fn set_registers(child: &Child, registers: &libc::user_regs_struct) {
    // SAFETY: the child is stopped, and the structure is only read.
    let result =
        unsafe { libc::ptrace(libc::PTRACE_SETREGS, child.id() as i32, 0, std::ptr::from_ref(registers)) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// A child that runs an operation and is stopped before one of its system calls.
pub(crate) struct StoppedChild {
    operation: String,
    pub(crate) child: Child,
    output: std::process::ChildStdout,
    /// The number of calls that it has made, including the one at which it is stopped.
    pub(crate) calls: usize,
    /// Whether the child is stopped at that call, and has not exited before it.
    pub(crate) is_stopped: bool,
}

impl StoppedChild {
    pub(crate) fn stop_before_call(what: &str, path: &Path, stop: usize) -> Self {
        Self::stop_when(what, path, |_, calls| calls == stop)
    }

    /// Invokes `stops` before each system call of the operation, with the number of calls so far, until it returns true.
    pub(crate) fn stop_when(what: &str, path: &Path, mut stops: impl FnMut(&Child, usize) -> bool) -> Self {
        let mut child = start_child(what, path, 100, true);
        let output = child.stdout.take().unwrap();
        assert_eq!(wait_for_stop(&child), Some(libc::SIGTRAP));
        let options = (libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL) as usize;
        ptrace_request(libc::PTRACE_SETOPTIONS, &child, options);
        // The program makes no marks: all of its calls count.
        let (mut marks, mut calls, mut enters) = (usize::from(is_program_command(what)), 0, false);
        loop {
            ptrace_request(libc::PTRACE_SYSCALL, &child, 0);
            match wait_for_stop(&child) {
                None => return Self { operation: what.to_owned(), child, output, calls, is_stopped: false },
                Some(signal) if signal == libc::SIGTRAP | 0x80 => enters = !enters,
                Some(_) => continue,
            }
            if !enters {
                continue;
            }
            if current_call(&child) == (libc::SYS_getpgid, MARK_ARGUMENT as u64) {
                marks += 1;
                continue;
            }
            calls += usize::from(marks == 1);
            if marks == 1 && stops(&child, calls) {
                return Self { operation: what.to_owned(), child, output, calls, is_stopped: true };
            }
        }
    }

    /// Lets the child continue to its end and returns its output.
    pub(crate) fn continue_to_end(mut self) -> String {
        if self.is_stopped {
            ptrace_request(libc::PTRACE_DETACH, &self.child, 0);
        }
        self.wait_for_end()
    }

    pub(crate) fn wait_for_end(&mut self) -> String {
        wait_for_result(&self.operation, &mut self.child, &mut self.output)
    }

    /// Kills the child, so that it cannot clean up.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.wait_for_end();
    }

    /// Makes the call fail without running it, then continues. Returns the call's number and the child's
    /// output.
    pub(crate) fn fail_call(self, error: i32) -> (i64, String) {
        // SAFETY: the structure consists of numbers, for which zero is valid.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let mut change = |request, change: &dyn Fn(&mut libc::user_regs_struct)| {
            // SAFETY: the child is stopped, and the structure lives until the call returns.
            unsafe { libc::ptrace(libc::PTRACE_GETREGS, self.child.id() as i32, 0, &raw mut registers) };
            let number = registers.orig_rax as i64;
            change(&mut registers);
            // SAFETY: as above.
            unsafe { libc::ptrace(request, self.child.id() as i32, 0, &raw mut registers) };
            number
        };
        let number = change(libc::PTRACE_SETREGS, &|registers| registers.orig_rax = u64::MAX);
        ptrace_request(libc::PTRACE_SYSCALL, &self.child, 0);
        assert_eq!(wait_for_stop(&self.child), Some(libc::SIGTRAP | 0x80));
        change(libc::PTRACE_SETREGS, &|registers| registers.rax = -i64::from(error) as u64);
        (number, self.continue_to_end())
    }
}

pub(crate) fn count_calls(what: &str, path: &Path) -> usize {
    let mut stopped = StoppedChild::stop_before_call(what, path, usize::MAX);
    stopped.wait_for_end();
    assert!(stopped.calls > 0, "{what} makes no calls");
    stopped.calls
}
