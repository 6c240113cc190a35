//! Read access to a manager's pointers: single pointers, ranges in the order of the calls, and rows, which are pointers
//! as JSON arrays for JavaScript.

use super::{
    call_set::Positions,
    held::Held,
    pointer::Pointer,
    pointer_table::PointerTable,
    state::{State, Stats},
};

/// Rows of pointers: the numbers of their calls, and a JSON array (see [`Pointer::write_row`]).
pub(super) type Rows = (Vec<u64>, String);

impl PointerTable {
    /// Counts and bytes in memory and on disk.
    pub fn stats(&self) -> Stats {
        self.state().stats()
    }

    /// The number of contexts with a pointer.
    pub fn len(&self) -> usize {
        self.state().pointers.len()
    }

    /// Whether there is no pointer.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the call's context has a pointer.
    pub fn contains(&self, sequence: u64) -> bool {
        self.state().pointers.contains_key(&sequence)
    }

    /// The pointer of a call's context.
    pub fn get(&self, sequence: u64) -> Option<Pointer> {
        self.state().pointers.get(&sequence).cloned()
    }

    /// The call number under which a file of another manager was adopted.
    pub fn adopted(&self, filename: &str) -> Option<u64> {
        self.state().adopted.get(filename).copied()
    }

    /// The pointer of a file.
    pub fn pointer_of(&self, filename: &str) -> Option<Pointer> {
        let state = self.state();
        let sequence = state.sequence_of(filename)?;
        state.pointers.get(&sequence).cloned()
    }

    /// The size of a call's context in bytes.
    pub fn size_of(&self, sequence: u64) -> Option<u64> {
        Some(self.state().pointers.get(&sequence)?.size)
    }

    /// The pointer of a call's context, with its record if that is cached.
    pub fn with_cached<R>(
        &self,
        sequence: u64,
        read: impl FnOnce(&Pointer) -> Option<R>,
    ) -> Option<(R, Option<Held>)> {
        let state = self.state();
        let read = read(state.pointers.get(&sequence)?)?;
        Some((read, state.memory.get(sequence).cloned()))
    }

    /// The pointer of a file that this manager saved: `None` if there is none, `Some(None)` if the context is not on
    /// disk.
    pub fn written(&self, filename: &str) -> Option<Option<Pointer>> {
        let state = self.state();
        let sequence = state.sequence_of(filename)?;
        Some(state.pointers.get(&sequence).filter(|pointer| pointer.on_disk).cloned())
    }

    /// The contexts of queries (JSON tokens).
    pub fn of_queries(&self, tokens: &[String]) -> Vec<u64> {
        let state = self.state();
        tokens.iter().flat_map(|token| state.by_query.get(token)).copied().collect()
    }

    /// The contexts of tasks (JSON tokens).
    pub fn of_tasks(&self, tokens: &[String]) -> Vec<u64> {
        let state = self.state();
        tokens.iter().flat_map(|token| state.by_task.get(token)).copied().collect()
    }

    /// The contexts that have a pointer, as a set of call numbers.
    pub fn positions(&self) -> Positions {
        self.state().calls.positions()
    }

    /// Calls `visit` with the given contexts that have a pointer.
    pub fn visit(&self, sequences: &[u64], mut visit: impl FnMut(u64, &Pointer)) {
        let pointers = &self.state().pointers;
        let known = sequences.iter().filter_map(|number| pointers.get_key_value(number));
        known.for_each(|(&sequence, pointer)| visit(sequence, pointer));
    }

    /// Calls `visit` with at most `limit` pointers from call number `start` on; returns the number at which
    /// the next visit starts.
    pub fn visit_from(
        &self,
        start: u64,
        limit: usize,
        mut visit: impl FnMut(u64, &Pointer),
    ) -> Option<u64> {
        self.state().visit_from(start, limit, |sequence, pointer, _| visit(sequence, pointer))
    }

    /// As [`PointerTable::visit_from`], for the call numbers only.
    pub fn sequences_from(&self, start: u64, limit: usize, out: &mut Vec<u64>) -> Option<u64> {
        let state = self.state();
        let before = out.len();
        out.extend(state.pointers.range(start..).take(limit).map(|(&number, _)| number));
        let is_full = out.len() - before == limit;
        out.last().filter(|_| is_full).map(|last| last + 1)
    }

    /// As [`PointerTable::visit_from`], without contexts whose record is neither in memory nor on disk.
    pub fn visit_stored_from(
        &self,
        start: u64,
        limit: usize,
        mut visit: impl FnMut(u64, &Pointer),
    ) -> Option<u64> {
        self.state().visit_from(start, limit, |sequence, pointer, memory| {
            if pointer.on_disk || memory.get(sequence).is_some() {
                visit(sequence, pointer);
            }
        })
    }

    /// At most `limit` pointers from call number `start` on, in the order of the calls.
    pub fn rows_from(&self, start: u64, limit: usize) -> Rows {
        let state = self.state();
        let pointers = state.pointers.range(start..).take(limit);
        rows(pointers.map(|(&number, pointer)| (number, pointer)))
    }

    /// At most `limit` pointers, newest first; only those of a tool (a JSON token) and of calls before that of a file,
    /// if given. `None` if this manager has no such file.
    pub fn latest_rows(
        &self,
        tool_name: Option<&str>,
        before: Option<&str>,
        limit: usize,
    ) -> Option<Rows> {
        let state = self.state();
        let end = match before {
            Some(filename) => state.sequence_of(filename)?,
            None => u64::MAX,
        };
        let latest = state.pointers.range(..end).rev().filter(|(_, pointer)| {
            tool_name.is_none_or(|tool_name| pointer.tool_name() == tool_name)
        });
        Some(rows(latest.take(limit).map(|(&number, pointer)| (number, pointer))))
    }

    /// The pointers of a query (a JSON token).
    pub fn rows_of_query(&self, query: &str) -> Rows {
        let state = self.state();
        state.rows_of(state.by_query.get(query))
    }

    /// The pointers of a task (a JSON token).
    pub fn rows_of_task(&self, task: &str) -> Rows {
        let state = self.state();
        state.rows_of(state.by_task.get(task))
    }
}

impl State {
    fn rows_of(&self, sequences: &[u64]) -> Rows {
        rows(sequences.iter().filter_map(|&number| Some((number, self.pointers.get(&number)?))))
    }
}

fn rows<'a>(pointers: impl Iterator<Item = (u64, &'a Pointer)>) -> Rows {
    let mut sequences = Vec::new();
    let mut text = String::from("[");
    for (sequence, pointer) in pointers {
        if !sequences.is_empty() {
            text.push(',');
        }
        sequences.push(sequence);
        pointer.write_row(&mut text);
    }
    text.push(']');
    (sequences, text)
}
