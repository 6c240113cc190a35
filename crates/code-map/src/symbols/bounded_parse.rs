//! The interface of `bounded_parse.c`: parses a text within a memory budget.
#![allow(
    unsafe_code,
    reason = "tree-sitter's allocator and the parse that longjmp can leave are C"
)]

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Once;

use tree_sitter::ffi::{TSLanguage, TSTree};
use tree_sitter::{Allocator, Language, Node, Tree};

use super::memory_budget::{Reservation, give_back, take};

// Must match `Outcome` in bounded_parse.c.
const FINISHED: c_int = 0;
const OVER_BUDGET: c_int = 1;
const OVER_TOTAL: c_int = 2;

/// Takes bytes from the budget that all parses share.
type Take = extern "C" fn(usize) -> bool;

#[repr(C)]
struct Request {
    language: *const TSLanguage,
    text: *const c_char,
    length: u32,
    budget: usize,
    take: Option<Take>,
    go_on: unsafe extern "C" fn(*mut c_void, u32) -> bool,
    payload: *mut c_void,
}

#[repr(C)]
struct Region {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn agent_context_malloc(size: usize) -> *mut c_void;
    fn agent_context_calloc(count: usize, size: usize) -> *mut c_void;
    fn agent_context_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn agent_context_free(block: *mut c_void);
    fn agent_context_parse(request: *const Request) -> *mut Region;
    fn agent_context_parse_outcome(region: *const Region) -> c_int;
    fn agent_context_parse_tree(region: *const Region) -> *mut TSTree;
    fn agent_context_parse_release(region: *mut Region) -> usize;
}

/// Why a parse has no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseError {
    /// It was stopped by `go_on`, or the grammar is unusable.
    Interrupted,
    /// The text needs more memory than its own budget.
    OverBudget,
    /// All parses together need more memory than the total budget.
    OverTotal,
    /// The system has no more memory.
    OutOfMemory,
}

/// Makes tree-sitter allocate with the functions of `bounded_parse.c`. Must be called before any other function of
/// tree-sitter.
pub fn install_allocator() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let allocator = Allocator {
            malloc: agent_context_malloc,
            calloc: agent_context_calloc,
            realloc: agent_context_realloc,
            free: agent_context_free,
        };
        // SAFETY: the four functions belong together, return no null pointer and align as malloc does. They are set
        // once, before any object of tree-sitter exists: all code that creates one calls this function first.
        unsafe { tree_sitter::set_allocator(Some(allocator)) };
    });
}

/// A parsed text. Its memory is released when this is dropped.
pub struct BoundedParse<'text> {
    /// Allocated in the region, with which it is released; it must not be dropped.
    tree: ManuallyDrop<Tree>,
    // Must be dropped before the reservation.
    _region: OwnedRegion,
    _reservation: Option<Reservation<'static>>,
    text: PhantomData<&'text str>,
}

impl<'text> BoundedParse<'text> {
    /// Parses a text with at most `budget` bytes of memory. They are taken from the shared budget as needed, unless
    /// they are reserved. `go_on` is called from time to time with the offset in the text, and returns whether to
    /// continue.
    pub fn new(
        grammar: &Language,
        text: &'text str,
        budget: usize,
        reservation: Option<Reservation<'static>>,
        go_on: impl FnMut(usize) -> bool,
    ) -> Result<Self, ParseError> {
        let take = reservation.is_none().then_some(take_shared as Take);
        let parsed = Self::with(grammar, text, budget, take, go_on)?;
        Ok(Self { _reservation: reservation, ..parsed })
    }

    fn with(
        grammar: &Language,
        text: &'text str,
        budget: usize,
        take: Option<Take>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Result<Self, ParseError> {
        install_allocator();
        let length = u32::try_from(text.len()).map_err(|_| ParseError::OverBudget)?;
        let request = Request {
            language: grammar.clone().into_raw(),
            text: text.as_ptr().cast(),
            length,
            budget,
            take,
            go_on: trampoline_for(&go_on),
            payload: (&raw mut go_on).cast(),
        };
        // SAFETY: the language lives as long as the process, text and payload longer than this call, after which
        // neither is used. `go_on` is the function for this payload. No frame of Rust is left by longjmp: the
        // callbacks do not use tree-sitter, and have returned when it allocates.
        let region = unsafe { agent_context_parse(&raw const request) };
        let region = OwnedRegion(NonNull::new(region).ok_or(ParseError::OutOfMemory)?);
        // SAFETY: the region is not released yet.
        match unsafe { agent_context_parse_outcome(region.0.as_ptr()) } {
            FINISHED => {}
            OVER_BUDGET => return Err(ParseError::OverBudget),
            OVER_TOTAL => return Err(ParseError::OverTotal),
            _ => return Err(ParseError::OutOfMemory),
        }
        // SAFETY: as above.
        let tree = unsafe { agent_context_parse_tree(region.0.as_ptr()) };
        if tree.is_null() {
            return Err(ParseError::Interrupted);
        }
        // SAFETY: the tree is not null, and this is its only owner.
        let tree = ManuallyDrop::new(unsafe { Tree::from_raw(tree) });
        Ok(Self { tree, _region: region, _reservation: None, text: PhantomData })
    }

    /// The root of the tree. The tree itself is private: a clone of it would outlive its memory.
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }
}

struct OwnedRegion(NonNull<Region>);

impl Drop for OwnedRegion {
    fn drop(&mut self) {
        // SAFETY: the region is released only here. Nodes borrow the parse that owns it, so none is left.
        give_back(unsafe { agent_context_parse_release(self.0.as_ptr()) });
    }
}

extern "C" fn take_shared(bytes: usize) -> bool {
    take(bytes)
}

/// The function that calls a closure of this type.
fn trampoline_for<F: FnMut(usize) -> bool>(
    _: &F,
) -> unsafe extern "C" fn(*mut c_void, u32) -> bool {
    unsafe extern "C" fn call<F: FnMut(usize) -> bool>(payload: *mut c_void, offset: u32) -> bool {
        // SAFETY: the payload is the closure, which nothing else uses meanwhile.
        let go_on = unsafe { &mut *payload.cast::<F>() };
        go_on(usize::try_from(offset).unwrap_or(usize::MAX))
    }
    call::<F>
}

#[cfg(test)]
mod tests {
    use super::super::memory_budget::reserve;
    use super::*;
    use tasks::Cancelled;

    fn grammar() -> Language {
        tree_sitter_java::LANGUAGE.into()
    }

    #[test]
    fn a_parse_keeps_to_its_budget() {
        let text = "=>typea".repeat(100);
        for budget in [0, 1, 1 << 10, 100 << 10, 300 << 10] {
            let parse = BoundedParse::new(&grammar(), &text, budget, None, |_| true);
            assert_eq!(parse.err(), Some(ParseError::OverBudget), "{budget}");
        }
        let parse = BoundedParse::new(&grammar(), &text, 8 << 20, None, |_| true).ok().unwrap();
        assert_eq!(parse.root().end_byte(), text.len());
    }

    #[test]
    fn a_parse_stops_when_all_parses_together_use_too_much() {
        extern "C" fn refuse(_: usize) -> bool {
            false
        }
        let parse = BoundedParse::with(&grammar(), "class A {}", 64 << 20, Some(refuse), |_| true);
        assert_eq!(parse.err(), Some(ParseError::OverTotal));
    }

    #[test]
    fn a_parse_can_use_reserved_memory() {
        let reservation = reserve(8 << 20, &Cancelled::default());
        let parse = BoundedParse::new(&grammar(), "class A {}", 8 << 20, reservation, |_| true);
        assert_eq!(parse.ok().unwrap().root().to_sexp(), CLASS);
    }

    #[test]
    fn a_parse_can_be_interrupted_wherever_it_asks() {
        let text = "class A { int b() { return 1 + 2; } }\n".repeat(200);
        for questions in 0..20 {
            let mut asked = 0;
            let parse = BoundedParse::new(&grammar(), &text, 64 << 20, None, |_| {
                asked += 1;
                asked <= questions
            });
            assert_eq!(parse.err(), Some(ParseError::Interrupted), "{questions}");
        }
    }

    #[test]
    fn a_parse_with_long_parse_stacks_can_be_interrupted() {
        let text = "=>typea".repeat(50_000);
        let parse = BoundedParse::new(&grammar(), &text, 256 << 20, None, |at| at < 300_000);
        assert_eq!(parse.err(), Some(ParseError::Interrupted));
    }

    #[test]
    fn a_scanner_state_that_is_too_long_stops_the_parse() {
        let mut text = String::new();
        for depth in 0..600 {
            text.push_str(&" ".repeat(depth));
            text.push_str("if a:\n");
        }
        text.push_str(&" ".repeat(600));
        text.push_str("b = f\"c{d}e\"\n");
        let grammar = tree_sitter_python::LANGUAGE.into();
        let parse = BoundedParse::new(&grammar, &text, 64 << 20, None, |_| true);
        assert_eq!(parse.err(), Some(ParseError::OverBudget));
    }

    #[test]
    fn threads_parse_at_the_same_time_and_are_stopped_one_by_one() {
        let hostile = "=>typea".repeat(100);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let hostile = &hostile;
                scope.spawn(move || {
                    for round in 0..50 {
                        let is_hostile = (thread + round) % 2 == 0;
                        let text = if is_hostile { hostile.as_str() } else { "class A {}" };
                        let parse = BoundedParse::new(&grammar(), text, 300 << 10, None, |_| true);
                        match parse {
                            Ok(parse) => assert_eq!(parse.root().to_sexp(), CLASS),
                            Err(error) => assert_eq!(error, ParseError::OverBudget),
                        }
                    }
                });
            }
        });
    }

    const CLASS: &str = "(program (class_declaration name: (identifier) body: (class_body)))";
}
