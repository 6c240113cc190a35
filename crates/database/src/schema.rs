//! The tables. They are created by the first statement that misses them, and migrated by the first connection of a newer
//! version of this package; both are safe with any number of processes at once.

/// The statements that bring each version to the next. Released versions are never changed.
pub(crate) const MIGRATIONS: &[&str] = &[
    concat!(
        include_str!("schema/version_1/entries.sql"),
        include_str!("schema/version_1/documents.sql"),
        include_str!("schema/version_1/files.sql")
    ),
    include_str!("schema/version_2/blobs.sql"),
    include_str!("schema/version_3/terms.sql"),
    include_str!("schema/version_4/entries.sql"),
];

/// The name for the schema in all SQL of this package.
const PLACEHOLDER: &str = "{schema}";

/// SQL with the name of the schema, which [`crate::Settings`] has checked, in quotes.
pub(crate) fn with_schema(sql: &str, schema: &str) -> String {
    sql.replace(PLACEHOLDER, &format!("\"{schema}\""))
}

/// The version that this package creates.
pub(crate) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Creates the schema and its list of migrations. Needs no right to create schemas where the schema exists.
pub(crate) const FIND_SCHEMA: &str =
    "SELECT count(*) FROM information_schema.schemata WHERE schema_name = $1";
pub(crate) const CREATE_SCHEMA: &str = "CREATE SCHEMA IF NOT EXISTS {schema}";
pub(crate) const CREATE_LIST: &str = "CREATE TABLE IF NOT EXISTS {schema}.migration (version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())";
/// The version of the tables.
pub(crate) const READ_VERSION: &str = "SELECT coalesce(max(version), 0) FROM {schema}.migration";
/// Claims a version. A process that claims the same one waits here, and then fails because the row exists.
pub(crate) const CLAIM_VERSION: &str = "INSERT INTO {schema}.migration (version) VALUES ($1)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_in_the_schema() {
        for migration in MIGRATIONS {
            let lines = migration.lines().filter(|line| !line.trim_start().starts_with("--"));
            let statements = lines.collect::<Vec<_>>().join("\n");
            for statement in statements.split(';').map(str::trim).filter(|text| !text.is_empty()) {
                let text = with_schema(statement, "s");
                assert!(text.contains("\"s\".") && !text.contains('{'), "{text}");
            }
        }
    }
}
