use std::{fs, path::Path};

use proptest::prelude::*;
use storage::LocalDisk;

use super::{table::Table, *};

fn disk() -> Arc<dyn Disk> {
    Arc::new(LocalDisk)
}

/// Vectors of another process, which shares only the files.
fn opened(directory: &Path, model: &str, capacity: usize) -> Vectors {
    let file = CacheFile::new(disk(), directory, model);
    let shared = Arc::new(Shared::new(capacity, Some(file)));
    Vectors { shared, debug: Debug::default() }
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

async fn add(vectors: &Vectors, names: &[&str]) {
    let numbers = names.iter().flat_map(|_| [1.0, 0.5, -0.25, 0.0]).collect();
    vectors.add(texts(names), numbers).await;
}

async fn found(vectors: &Vectors, names: &[&str]) -> Vec<bool> {
    vectors.refresh().await;
    names.iter().map(|name| vectors.has(TextDigest::of(name))).collect()
}

fn file_of(directory: &Path, model: &str) -> PathBuf {
    directory.join(layout::vectors_of(model))
}

#[tokio::test]
async fn another_process_finds_the_vectors_of_the_same_model_only() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("x.vectors");
    add(&opened(&directory, "one", CAPACITY), &["a", "b"]).await;
    let again = opened(&directory, "one", CAPACITY);
    assert_eq!(found(&again, &["a", "b", "c"]).await, [true, true, false]);
    let cosines = again.query(&[2.0, 1.0, -0.5, 0.0]).unwrap();
    let cosines = cosines.cosines([Some(TextDigest::of("a")), None]).unwrap();
    assert!(cosines[0].unwrap() > 0.9999 && cosines[1].is_none());
    assert_eq!(found(&opened(&directory, "other", CAPACITY), &["a"]).await, [false]);
    // A file under the name of another model, as if the hashes in both names were equal.
    fs::copy(file_of(&directory, "one"), file_of(&directory, "other")).unwrap();
    let other = opened(&directory, "other", CAPACITY);
    assert_eq!(found(&other, &["a"]).await, [false]);
    add(&other, &["c"]).await;
    assert_eq!(found(&opened(&directory, "other", CAPACITY), &["a", "c"]).await, [false, true]);
    let nameless = Vectors::open(Some(disk()), &directory, None, Debug::default());
    assert_eq!(found(&nameless, &["a"]).await, [false]);
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_for_their_owner_and_not_made_without_their_parent() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("x.vectors");
    add(&opened(&directory, "one", CAPACITY), &["a"]).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&directory), mode(&file_of(&directory, "one"))), (0o700, 0o600));
    let missing = folder.path().join("missing");
    let vectors = opened(&missing.join(".vectors"), "one", CAPACITY);
    add(&vectors, &["a"]).await;
    assert!(!missing.exists());
    fs::create_dir(&missing).unwrap();
    add(&vectors, &["b"]).await;
    let again = opened(&missing.join(".vectors"), "one", CAPACITY);
    assert_eq!(found(&again, &["a", "b"]).await, [true, true], "the first are saved later");
}

#[tokio::test]
async fn a_damaged_file_is_read_up_to_the_damage_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("x.vectors");
    add(&opened(&directory, "one", CAPACITY), &["a", "b", "c"]).await;
    let path = file_of(&directory, "one");
    let whole = fs::read(&path).unwrap();
    for position in 0..whole.len() {
        for is_cut in [false, true] {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x10;
            damaged.truncate(if is_cut { position } else { whole.len() });
            fs::write(&path, &damaged).unwrap();
            let read = opened(&directory, "one", CAPACITY);
            let kept = found(&read, &["a", "b", "c"]).await;
            assert!(kept.is_sorted_by(|one, next| one >= next) && !kept[2], "{position}");
        }
    }
    fs::write(&path, whole.get(..whole.len() - 1).unwrap()).unwrap();
    add(&opened(&directory, "one", CAPACITY), &["d"]).await;
    let read = opened(&directory, "one", CAPACITY);
    assert_eq!(found(&read, &["a", "b", "c", "d"]).await, [true, true, false, true]);
    let names = fs::read_dir(&directory).unwrap();
    assert_eq!(names.count(), 1, "no temporary file is left");
}

#[tokio::test]
async fn writers_append_to_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("x.vectors");
    let name = |writer: usize, round: usize| format!("text {writer} of {round}");
    let writers = (0..8).map(|writer| {
        let vectors = opened(&directory, "one", CAPACITY);
        tokio::spawn(async move {
            for round in 0..20 {
                add(&vectors, &[&name(writer, round)]).await;
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let all: Vec<String> =
        (0..8).flat_map(|writer| (0..20).map(move |round| name(writer, round))).collect();
    let all: Vec<&str> = all.iter().map(|name| &**name).collect();
    let read = opened(&directory, "one", CAPACITY);
    let kept = found(&read, &all).await.into_iter().filter(|kept| *kept).count();
    assert_eq!(kept, all.len());
}

#[tokio::test]
async fn the_least_recently_used_vectors_leave_the_memory_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("x.vectors");
    let capacity = 8 * (4 + 64);
    let vectors = opened(&directory, "one", capacity);
    assert_eq!(vectors.room(), capacity / 64, "as long as the dimensions are unknown");
    add(&vectors, &["used", "unused"]).await;
    assert_eq!(vectors.room(), 8);
    let query = vectors.query(&[1.0; 4]).unwrap();
    for round in 0..40 {
        assert!(query.cosines([Some(TextDigest::of("used"))]).is_some());
        add(&vectors, &[&format!("{round}")]).await;
    }
    assert_eq!(
        found(&vectors, &["used", "unused", "39", "33", "32"]).await,
        [true, false, true, true, false]
    );
    let length = fs::metadata(file_of(&directory, "one")).unwrap().len();
    assert!(length < 56 + 11 * 24, "{length} bytes");
    let read = opened(&directory, "one", capacity);
    assert_eq!(found(&read, &["unused", "39", "33"]).await, [false, true, true]);
}

#[tokio::test]
async fn other_dimensions_replace_the_vectors_of_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("x.vectors");
    let vectors = opened(&directory, "one", CAPACITY);
    add(&vectors, &["a"]).await;
    let query = vectors.query(&[1.0; 3]).unwrap();
    assert!(query.cosines([Some(TextDigest::of("a"))]).is_none());
    vectors.add(texts(&["b"]), vec![1.0; 3]).await;
    let read = opened(&directory, "one", CAPACITY);
    assert_eq!(found(&read, &["a", "b"]).await, [false, true]);
}

#[tokio::test]
async fn a_directory_has_the_files_of_eight_models() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("x.vectors");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("other.txt"), "kept").unwrap();
    for model in 0..12 {
        add(&opened(&directory, &model.to_string(), CAPACITY), &["a"]).await;
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 8 + 1);
    assert!(directory.join("other.txt").exists() && file_of(&directory, "11").exists());
}

#[test]
fn texts_are_embedded_once_and_cut() {
    let vectors = Vectors::open(None, Path::new("x"), Some("one"), Debug::default());
    vectors.shared.table().insert(TextDigest::of("b"), &Quantised::of(&[1.0]).unwrap());
    let missing = vectors.missing(texts(&["a", "b", "a", "c", "d"]).into_iter(), 2);
    assert_eq!(missing, ["a", "c"]);
    let long = "é".repeat(3000);
    assert_eq!(embedded_text(&["", &long, "x"]).chars().count(), 2000);
    assert_eq!(embedded_text(&["a", "", "b "]), "a\nb");
}

#[test]
fn invalid_vectors_are_refused() {
    let wrong = [&[][..], &[f32::NAN, 1.0], &[f32::INFINITY], &[1.0, f32::NEG_INFINITY]];
    for wrong in wrong.into_iter().chain([&vec![1.0; 65_537][..]]) {
        assert_eq!(Quantised::of(wrong), None);
    }
    let zero = Quantised::of(&[0.0, 0.0]).unwrap();
    assert_eq!(zero.cosine(zero.numbers(), zero.scale()), 0.0);
    let most = Quantised::of(&vec![f32::MAX; 65_536]).unwrap();
    assert!((most.cosine(most.numbers(), most.scale()) - 1.0).abs() < 1e-5);
}

proptest! {
    #[test]
    fn cosines_are_off_by_the_angles_of_quantisation_at_most(
        one in prop::collection::vec(-100.0_f32..100.0, 1..200),
        other in prop::collection::vec(-100.0_f32..100.0, 200),
    ) {
        let other = other.get(..one.len()).unwrap_or_default();
        let dot: f64 = one.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        let length = |vector: &[f32]| vector.iter().map(|a| f64::from(*a).powi(2)).sum::<f64>().sqrt();
        let product = length(&one) * length(other);
        prop_assume!(product > 0.0);
        let angle = |vector: &[f32]| {
            let greatest = vector.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
            let distance = f64::from(greatest) / 254.0 * (vector.len() as f64).sqrt();
            (distance / length(vector)).min(1.0).asin()
        };
        let (first, second) = (Quantised::of(&one).unwrap(), Quantised::of(other).unwrap());
        let cosine = f64::from(first.cosine(second.numbers(), second.scale()));
        let bound = angle(&one) + angle(other) + 1e-5;
        prop_assert!((cosine - dot / product).abs() <= bound, "{cosine} is not {}", dot / product);
    }

    #[test]
    fn the_most_recently_used_texts_have_vectors(uses in prop::collection::vec((0_u32..30, any::<bool>()), 0..200)) {
        let mut table = Table::new(10 * (3 + 64));
        let vector = Quantised::of(&[1.0, 2.0, 3.0]).unwrap();
        let mut order: Vec<u32> = Vec::new();
        for (name, is_lookup) in uses {
            let text = TextDigest::of(&name.to_string());
            table.tick();
            if !is_lookup {
                table.insert(text, &vector);
            } else if !table.touch(text) {
                continue;
            }
            order.retain(|other| *other != name);
            order.push(name);
            prop_assert_eq!(table.in_order_of_use().len(), order.len().min(10));
        }
        for (place, name) in order.iter().rev().enumerate() {
            prop_assert_eq!(table.touch(TextDigest::of(&name.to_string())), place < 10);
        }
    }
}
