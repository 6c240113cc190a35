//! What every [`Disk`] does, whatever it keeps its files on. The tests of each implementation call [`check`].

use std::{
    io::ErrorKind::{AlreadyExists, InvalidInput, NotFound},
    path::{Path, PathBuf},
    sync::Arc,
};

use storage::{Access, Disk, LockAttempt, OpenFile};

struct Contract {
    disk: Arc<dyn Disk>,
    root: PathBuf,
}

/// Checks a disk in an existing, empty directory, whose path is canonical.
///
/// # Panics
/// If the disk does not do what every disk does.
pub fn check(disk: &Arc<dyn Disk>, root: &Path) {
    let contract =
        |name: &str| Contract { disk: Arc::clone(disk), root: root.join(name) }.created();
    contract("whole").files_appear_whole_and_replace_nothing();
    contract("renamed").renames_move_files();
    contract("read").reads_stay_below_the_root();
    contract("long").long_files_are_read_in_ranges();
    contract("listed").directories_are_listed();
    contract("open").open_files_are_read_and_changed();
    contract("appended").appends_of_open_files_do_not_overlap();
    contract("named").open_files_know_their_names();
    contract("locked").locks_belong_to_open_files();
}

impl Contract {
    fn created(self) -> Self {
        self.disk.create_directories(&self.root).unwrap();
        self
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn open(&self, name: &str, access: Access) -> Box<dyn OpenFile> {
        self.disk.open(&self.at(name), access).unwrap()
    }

    fn write(&self, name: &str, contents: &[u8]) {
        self.disk.write_new(&self.at(name), contents, true).unwrap();
    }

    fn contents(&self, name: &str) -> Option<Vec<u8>> {
        match self.disk.read(&self.root, Path::new(name), u64::MAX) {
            Ok(contents) => {
                assert_eq!(contents.bytes.len() as u64, contents.length);
                Some(contents.bytes)
            }
            Err(error) => {
                assert!(error.is_not_found(), "{error}");
                None
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.disk.names(&self.root).unwrap();
        names.sort();
        names
    }

    fn files_appear_whole_and_replace_nothing(&self) {
        self.write("x", b"one");
        let again = self.disk.write_new(&self.at("x"), b"two", false).unwrap_err();
        assert_eq!(again.kind, AlreadyExists);
        if self.disk.create_unnamed(&self.at("y"), b"three", true).unwrap() {
            let again = self.disk.create_unnamed(&self.at("x"), b"two", false).unwrap_err();
            assert_eq!(again.kind, AlreadyExists);
            assert_eq!(self.contents("y").unwrap(), b"three");
        }
        assert_eq!(self.contents("x").unwrap(), b"one");
        self.write("empty", b"");
        assert_eq!(self.contents("empty").unwrap(), b"");
        assert!(self.disk.remove(&self.at("x")).unwrap());
        assert!(!self.disk.remove(&self.at("x")).unwrap());
        assert_eq!(self.contents("x"), None);
    }

    fn renames_move_files(&self) {
        let (from, to) = (self.at("from"), self.at("to"));
        self.write("from", b"new");
        self.write("to", b"old");
        assert_eq!(self.disk.rename_new(&from, &to).unwrap_err().kind, AlreadyExists);
        assert_eq!(self.contents("to").unwrap(), b"old");
        self.disk.rename_over(&from, &to).unwrap();
        assert_eq!((self.contents("from"), self.contents("to").unwrap()), (None, b"new".to_vec()));
        assert_eq!(self.disk.rename_over(&from, &to).unwrap_err().kind, NotFound);
        assert_eq!(self.disk.rename_new(&from, &self.at("z")).unwrap_err().kind, NotFound);
        self.disk.rename_new(&to, &from).unwrap();
        assert_eq!(self.names(), ["from"]);
    }

    fn reads_stay_below_the_root(&self) {
        self.disk.create_directories(&self.at("inner")).unwrap();
        self.write("inner/x", b"12345");
        let read = |path: &str, limit| self.disk.read(&self.root, Path::new(path), limit);
        let contents = read("inner/x", 3).unwrap();
        assert_eq!((contents.bytes.as_slice(), contents.length), (&b"123"[..], 5));
        assert_eq!(read("inner/x", 0).unwrap().bytes, b"");
        for path in ["../x", "/etc/passwd", "", "."] {
            assert_eq!(read(path, 3).unwrap_err().kind, InvalidInput, "{path}");
        }
        for path in ["missing", "missing/x"] {
            assert_eq!(read(path, 3).unwrap_err().kind, NotFound, "{path}");
        }
        assert!(read("inner", 3).is_err());
    }

    fn long_files_are_read_in_ranges(&self) {
        let long: Vec<u8> = (0..5_000_000_u32).map(|number| (number % 251) as u8).collect();
        self.write("x", &long);
        assert_eq!(self.contents("x").unwrap(), long);
        let prefix = self.disk.read(&self.root, Path::new("x"), 300_000).unwrap();
        assert_eq!((prefix.bytes.as_slice(), prefix.length), (&long[..300_000], 5_000_000));
        assert_eq!(
            self.disk.write_new(&self.at("x"), &long, false).unwrap_err().kind,
            AlreadyExists
        );
        let file = self.open("x", Access::Read);
        for (offset, length) in [(0, 10), (262_140, 10), (262_144, 1), (1_000_000, 2_000_000)] {
            let mut buffer = vec![0; length];
            assert_eq!(file.read_at(offset as u64, &mut buffer).unwrap(), length);
            assert_eq!(buffer, long[offset..offset + length], "{offset}");
        }
        let mut buffer = [0; 10];
        assert_eq!(file.read_at(4_999_997, &mut buffer).unwrap(), 3);
        assert_eq!(file.read_at(6_000_000, &mut buffer).unwrap(), 0);
    }

    fn directories_are_listed(&self) {
        for directory in ["inner/deep", "inn", "inner0"] {
            self.disk.create_directories(&self.at(directory)).unwrap();
            self.write(&format!("{directory}/x"), b"1");
        }
        self.write("x.json", b"12345");
        self.write("é", b"1");
        let children = self.disk.children(&self.root).unwrap();
        let mut directories = children.directories;
        directories.sort();
        assert_eq!(directories, ["inn", "inner", "inner0"]);
        let mut listed = self.disk.directories(&self.root).unwrap();
        listed.sort();
        assert_eq!(listed, directories);
        let mut files = self.disk.list(&self.root).unwrap();
        files.sort_by(|one, other| one.name.cmp(&other.name));
        let sizes: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.length)).collect();
        assert_eq!(sizes, [("x.json", Some(5)), ("é", Some(1))]);
        assert_eq!(children.files.len(), 2);
        assert!(self.names().contains(&"x.json".to_owned()));
        let entry = |name| self.disk.entry(&self.root, name).unwrap();
        assert_eq!(entry("x.json").as_ref(), files.first());
        assert_eq!((entry("inner"), entry("missing")), (None, None));
        let before = entry("x.json").unwrap().version;
        self.open("x.json", Access::Append).append(b"6").unwrap();
        let after = entry("x.json").unwrap();
        assert_eq!(after.length, Some(6));
        assert!(after.version != before || before.is_none());
        let missing = self.at("missing");
        assert!(self.disk.list(&missing).unwrap().is_empty());
        assert!(self.disk.names(&missing).unwrap().is_empty());
        assert!(self.disk.directories(&missing).unwrap().is_empty());
    }

    fn open_files_are_read_and_changed(&self) {
        let missing = self.disk.open(&self.at("x"), Access::Read);
        assert!(missing.err().unwrap().is_not_found());
        let file = self.open("x", Access::Append);
        file.append(b"one\n").unwrap();
        self.open("x", Access::Append).append(b"two\n").unwrap();
        file.append(b"three\n").unwrap();
        let mut buffer = [0; 100];
        assert_eq!(file.read_at(4, &mut buffer).unwrap(), 10);
        assert_eq!(&buffer[..10], b"two\nthree\n");
        file.truncate(6).unwrap();
        file.sync().unwrap();
        assert_eq!(file.length().unwrap(), 6);
        file.append(b"!").unwrap();
        assert_eq!(self.contents("x").unwrap(), b"one\ntw!");
        let again = self.disk.open(&self.at("x"), Access::AppendNew);
        assert_eq!(again.err().unwrap().kind, AlreadyExists);
        assert_eq!(self.open("y", Access::AppendNew).length().unwrap(), 0);
        file.truncate(0).unwrap();
        assert_eq!(self.contents("x").unwrap(), b"");
    }

    fn appends_of_open_files_do_not_overlap(&self) {
        const APPENDS: usize = 20;
        let threads: Vec<_> = (0..4_u8)
            .map(|number| {
                let file = self.open("x", Access::Append);
                std::thread::spawn(move || {
                    for _ in 0..APPENDS {
                        file.append(&[b'a' + number; 100]).unwrap();
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let contents = self.contents("x").unwrap();
        assert_eq!(contents.len(), 4 * APPENDS * 100);
        assert!(contents.chunks(100).all(|row| row.iter().all(|byte| Some(byte) == row.first())));
    }

    fn open_files_know_their_names(&self) {
        let (path, aside) = (self.at("x"), self.at("y"));
        for is_locked in [false, true] {
            let file = self.open("x", Access::AppendNew);
            if is_locked {
                assert_eq!(file.try_lock().unwrap(), LockAttempt::Taken);
            }
            assert!(file.is_linked() && file.is_at(&path));
            self.disk.rename_new(&path, &aside).unwrap();
            assert!(file.is_linked() && !file.is_at(&path) && file.is_at(&aside));
            let new = self.open("x", Access::AppendNew);
            assert_ne!(file.identity(), new.identity());
            let reader = self.open("y", Access::Read);
            assert_eq!(reader.identity(), file.identity());
            self.disk.rename_over(&path, &aside).unwrap();
            assert!(!reader.is_linked() && !file.is_at(&aside) && new.is_at(&aside));
            if is_locked {
                assert!(!file.is_linked());
            }
            self.disk.remove(&aside).unwrap();
        }
    }

    fn locks_belong_to_open_files(&self) {
        let one = self.open("x", Access::Append);
        let other = self.open("x", Access::Append);
        let reader = self.open("x", Access::Read);
        assert_eq!(one.try_lock().unwrap(), LockAttempt::Taken);
        assert_eq!(other.try_lock().unwrap(), LockAttempt::Held);
        assert_eq!(reader.try_lock().unwrap(), LockAttempt::Held);
        one.append(b"1").unwrap();
        one.unlock();
        assert_eq!(reader.try_lock().unwrap(), LockAttempt::Taken);
        drop(reader);
        assert_eq!(other.try_lock().unwrap(), LockAttempt::Taken);
        // Of a new file with the name.
        self.disk.remove(&self.at("x")).unwrap();
        let new = self.open("x", Access::Append);
        assert_eq!(new.try_lock().unwrap(), LockAttempt::Taken);
        assert!(!other.is_linked() && new.is_linked());
    }
}
