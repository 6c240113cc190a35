use super::*;
use proptest::prelude::*;
use std::fs;
use storage::LocalDisk;

fn name(random: u64) -> String {
    format!("grep_0123456789ab_1700000000000_{random}_{random:016x}.json")
}

fn table(path: &Path) -> HandleTable {
    let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
    HandleTable::new(&disk, path)
}

fn found(table: &HandleTable, handle: u64) -> Vec<(String, Mark)> {
    let (rows, _) = table.find(handle).unwrap();
    rows.into_iter().map(|row| (row.filename, row.mark)).collect()
}

#[test]
fn every_process_finds_the_latest_file_of_a_handle_first() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (table(folder.path()), table(folder.path()));
    assert_eq!(found(&one, 7), []);
    one.add(7, Mark::Saved, &name(1)).unwrap();
    other.add(8, Mark::Saved, &name(2)).unwrap();
    other.add(7, Mark::Saved, &name(3)).unwrap();
    one.add(7, Mark::DeletedByCap, &name(1)).unwrap();
    for table in [&one, &other, &table(folder.path())] {
        assert_eq!(
            found(table, 7),
            [(name(1), Mark::DeletedByCap), (name(3), Mark::Saved), (name(1), Mark::Saved)]
        );
        assert_eq!(found(table, 8), [(name(2), Mark::Saved)]);
    }
    let length = fs::metadata(folder.path().join(layout::HANDLES)).unwrap().len();
    assert_eq!(length, 4 * ROW as u64);
}

#[test]
fn files_without_a_row_are_told_and_a_damaged_table_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(folder.path());
    first.add(1, Mark::Saved, &name(1)).unwrap();
    for random in [1, 2] {
        fs::write(folder.path().join(name(random)), "{}").unwrap();
    }
    fs::write(folder.path().join("foreign.json"), "{}").unwrap();
    assert_eq!(first.unnamed().unwrap(), [name(2)]);
    let path = folder.path().join(layout::HANDLES);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(&[b'x'; 10]);
    fs::write(&path, &bytes).unwrap();
    // Rows after an incomplete one are not aligned.
    first.add(2, Mark::Saved, &name(2)).unwrap();
    first.add(3, Mark::Saved, &name(3)).unwrap();
    assert_eq!(found(&table(folder.path()), 1), []);
    assert!(!path.exists());
    assert_eq!(first.unnamed().unwrap().len(), 2);
    // The next row goes into a new file.
    first.add(3, Mark::Saved, &name(3)).unwrap();
    assert_eq!(found(&first, 3), [(name(3), Mark::Saved)]);
}

#[test]
fn a_damaged_name_is_found_when_it_is_read() {
    for is_listed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let written = table(folder.path());
        written.add(1, Mark::Saved, &name(1)).unwrap();
        written.add(2, Mark::Saved, &name(2)).unwrap();
        fs::write(folder.path().join(name(2)), "{}").unwrap();
        let path = folder.path().join(layout::HANDLES);
        let mut bytes = fs::read(&path).unwrap();
        bytes[NAME] = b'/';
        fs::write(&path, &bytes).unwrap();
        let read = table(folder.path());
        assert_eq!(found(&read, 2), [(name(2), Mark::Saved)]);
        if is_listed {
            assert_eq!(read.unnamed().unwrap(), [name(2)]);
        } else {
            assert_eq!(found(&read, 1), []);
        }
        assert!(!path.exists());
    }
}

#[test]
fn many_threads_add_whole_rows() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let table = &table;
            scope.spawn(move || {
                for number in 0..200 {
                    let random = thread * 1000 + number;
                    table.add(random, Mark::Saved, &name(random)).unwrap();
                }
            });
        }
    });
    for thread in 0..8_u64 {
        for number in 0..200 {
            let random = thread * 1000 + number;
            assert_eq!(found(&table, random), [(name(random), Mark::Saved)]);
        }
    }
}

proptest! {
    #[test]
    fn a_row_is_read_as_it_was_written(handle in any::<u64>(), random in any::<u64>()) {
        let name = name(random);
        let row = row(handle, Mark::Saved, &name).unwrap();
        prop_assert_eq!(parse(&row), Some((handle, Mark::Saved, name.as_str())));
    }

    #[test]
    fn any_bytes_are_judged_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
    }
}

#[test]
fn the_longest_name_fits() {
    let longest = layout::context(&layout::ContextName {
        session: Some(&"s".repeat(300)),
        tool: &"t".repeat(300),
        arguments_hash: "0123456789ab",
        timestamp: i64::MAX,
        counter: u64::MAX,
        random: u64::MAX,
    });
    let row = row(1, Mark::Saved, &longest).unwrap();
    assert_eq!(parse(&row), Some((1, Mark::Saved, longest.as_str())));
}
