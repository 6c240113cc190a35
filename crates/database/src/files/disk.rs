//! The files of a database as a [`Disk`], whose operations block their thread.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use storage::{Access, Children, Contents, Disk, FileEntry, FileResult, OpenFile, Payload, Pieces};

use super::{Files, file_system::canonical, refused, wait_for, whole::Existing};

/// The disk.
pub struct DatabaseDisk(pub Arc<Files>);

impl DatabaseDisk {
    fn wait_for<T, Work>(
        &self,
        operation: &'static str,
        path: &Path,
        work: impl FnOnce(Arc<Files>, PathBuf) -> Work,
    ) -> FileResult<T>
    where
        T: Send + 'static,
        Work: Future<Output = FileResult<T>> + Send + 'static,
    {
        wait_for((operation, path), work(Arc::clone(&self.0), path.to_owned()))
    }
}

impl Disk for DatabaseDisk {
    fn create_directories(&self, _: &Path) -> FileResult<()> {
        Ok(())
    }

    fn canonical(&self, path: &Path) -> FileResult<PathBuf> {
        canonical(path)
    }

    fn write_new(&self, path: &Path, contents: &[u8], _: bool) -> FileResult<()> {
        let contents = Payload::new(contents.to_vec());
        self.wait_for("write", path, async move |files, path| {
            files.write(&path, &contents, Existing::Refuse).await
        })
    }

    fn create_unnamed(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<bool> {
        self.write_new(path, contents, sync).map(|()| true)
    }

    fn create_of_pieces(
        &self,
        path: &Path,
        pieces: Pieces,
    ) -> std::result::Result<FileResult<()>, Pieces> {
        let Some(upload) = self.0.upload() else { return Err(pieces) };
        let at = ("write", path);
        let mut uploading = Some(upload);
        let written = pieces(&mut |piece| {
            let Some(mut upload) = uploading.take() else {
                return Err(refused("write", path, io::ErrorKind::BrokenPipe));
            };
            upload.gather(piece);
            if !upload.is_full() {
                uploading = Some(upload);
                return Ok(());
            }
            let path = path.to_owned();
            uploading = Some(wait_for(at, async move {
                upload.send(&path).await?;
                Ok(upload)
            })?);
            Ok(())
        });
        // After an error of the upload there is none.
        let Some(mut upload) = uploading else { return Ok(written) };
        let path = path.to_owned();
        Ok(wait_for(at, async move {
            match written {
                Ok(()) => upload.finish(&path).await,
                Err(error) => {
                    upload.give_up().await;
                    Err(error)
                }
            }
        }))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> FileResult<()> {
        let to = to.to_owned();
        self.wait_for("rename", from, async move |files, from| files.rename_new(&from, &to).await)
    }

    fn rename_over(&self, from: &Path, to: &Path) -> FileResult<()> {
        let to = to.to_owned();
        self.wait_for("rename", from, async move |files, from| files.rename_over(&from, &to).await)
    }

    fn sync_directory(&self, _: &Path) -> FileResult<()> {
        Ok(())
    }

    fn read(&self, root: &Path, relative: &Path, limit: u64) -> FileResult<Contents> {
        let relative = relative.to_owned();
        self.wait_for("read", root, async move |files, root| {
            files.read(&root, &relative, limit).await
        })
    }

    fn list(&self, directory: &Path) -> FileResult<Vec<FileEntry>> {
        self.wait_for("readdir", directory, async |files, path| files.list(&path).await)
    }

    fn names(&self, directory: &Path) -> FileResult<Vec<String>> {
        self.wait_for("readdir", directory, async |files, path| files.names(&path).await)
    }

    fn directories(&self, directory: &Path) -> FileResult<Vec<String>> {
        self.wait_for("readdir", directory, async |files, path| files.directories(&path).await)
    }

    fn children(&self, directory: &Path) -> FileResult<Children> {
        self.wait_for("readdir", directory, async |files, path| files.children(&path).await)
    }

    fn entry(&self, directory: &Path, name: &str) -> FileResult<Option<FileEntry>> {
        let name = name.to_owned();
        self.wait_for("stat", directory, async move |files, path| files.entry(&path, &name).await)
    }

    fn remove(&self, path: &Path) -> FileResult<bool> {
        self.wait_for("unlink", path, async |files, path| files.remove(&path).await)
    }

    fn open(&self, path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>> {
        let opened =
            self.wait_for("open", path, async move |files, path| files.open(path, access).await)?;
        Ok(Box::new(opened))
    }

    fn create_locked(&self, path: &Path, contents: &[u8]) -> FileResult<Option<Box<dyn OpenFile>>> {
        let contents = contents.to_vec();
        let created = self.wait_for("open", path, async move |files, path| {
            files.create_locked(path, &contents).await
        })?;
        Ok(Some(Box::new(created)))
    }

    fn scope(&self) -> u64 {
        self.0.scope
    }
}
