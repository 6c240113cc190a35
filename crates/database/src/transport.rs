//! Encryption of connections. Servers are verified with the system's certificates or the given ones; only connections
//! within the machine for which nothing is demanded, and those for which the caller asks, are plain.

use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, OnceLock},
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::settings::InvalidSettings;

/// Which connections are encrypted.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Encryption {
    /// Those to other machines, verified with the system's certificates.
    #[default]
    Verified,
    /// As [`Encryption::Verified`], with these certificates, in the PEM format, in place of the system's.
    VerifiedBy(String),
    /// None.
    Off,
}

impl fmt::Debug for Encryption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified => formatter.write_str("Verified"),
            // A certificate is no secret, but long.
            Self::VerifiedBy(certificates) => write!(formatter, "VerifiedBy({certificates})"),
            Self::Off => formatter.write_str("Off"),
        }
    }
}

/// What the `sslmode` of a URL says. Certificates are verified in every mode but `disable`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SslDemand {
    /// Nothing: there is none, or it leaves the choice to the client.
    #[default]
    None,
    /// `disable`.
    Plain,
    /// `require`, `verify-ca` or `verify-full`.
    Encrypted,
}

/// How a connection is made.
#[derive(Clone)]
pub(crate) enum Transport {
    Plain,
    /// Verified with the system's certificates, which the first connection reads.
    Verified(Arc<OnceLock<Result<MakeRustlsConnect, rustls::Error>>>),
    VerifiedBy(MakeRustlsConnect),
}

impl Transport {
    /// Determines the transport for the hosts of `config`, and sets its mode. Reads no file.
    pub fn new(
        config: &mut Config,
        encryption: Encryption,
        demand: SslDemand,
    ) -> Result<Self, InvalidSettings> {
        let encrypts = match demand {
            SslDemand::Plain => false,
            SslDemand::Encrypted => !config.get_hosts().iter().all(is_socket),
            SslDemand::None => !is_local(config),
        };
        let transport = match encryption {
            Encryption::Off if demand == SslDemand::Encrypted => {
                return Err(invalid("must not be false if sslmode demands encryption".to_owned()));
            }
            // Certificates that the caller gave are used on this machine as well.
            Encryption::VerifiedBy(certificates) => {
                let connector = connector(roots_of(&certificates)?);
                Self::VerifiedBy(connector.map_err(|error| invalid(error.to_string()))?)
            }
            Encryption::Verified if encrypts => Self::Verified(Arc::default()),
            Encryption::Verified | Encryption::Off => Self::Plain,
        };
        let is_plain = matches!(transport, Self::Plain);
        config.ssl_mode(if is_plain { SslMode::Disable } else { SslMode::Require });
        Ok(transport)
    }

    /// The connector of encrypted connections; `None` for plain ones. May read the system's certificates.
    pub fn connector(&self) -> Result<Option<MakeRustlsConnect>, rustls::Error> {
        match self {
            Self::Plain => Ok(None),
            Self::Verified(known) => {
                known.get_or_init(|| connector(system_roots())).clone().map(Some)
            }
            Self::VerifiedBy(connector) => Ok(Some(connector.clone())),
        }
    }
}

fn connector(roots: RootCertStore) -> Result<MakeRustlsConnect, rustls::Error> {
    verified_by(roots).map(MakeRustlsConnect::new)
}

fn verified_by(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let verified = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots);
    Ok(verified.with_no_client_auth())
}

/// TLS that is verified with the system's certificates, which are read now.
pub(crate) fn system_verified() -> Result<ClientConfig, rustls::Error> {
    verified_by(system_roots())
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn invalid(expectation: String) -> InvalidSettings {
    InvalidSettings { option: "tls", expectation }
}

fn roots_of(text: &str) -> Result<RootCertStore, InvalidSettings> {
    let expectation = || invalid("must hold certificates in the PEM format as ca".to_owned());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let certificate = certificate.map_err(|_| expectation())?;
        roots.add(certificate).map_err(|_| expectation())?;
    }
    if roots.is_empty() { Err(expectation()) } else { Ok(roots) }
}

/// Whether all hosts are this machine. Where addresses are given, names are not looked up.
fn is_local(config: &Config) -> bool {
    let is_local_host = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_local_host)
        && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// Whether a host is a socket in the file system, which has no encryption: `sslmode` does not apply to it, as in libpq.
fn is_socket(host: &Host) -> bool {
    !matches!(host, Host::Tcp(_))
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn is_plain(url: &str, encryption: Encryption, demand: SslDemand) -> bool {
        let mut config = Config::from_str(url).unwrap();
        matches!(Transport::new(&mut config, encryption, demand), Ok(Transport::Plain))
    }

    #[test]
    fn only_connections_within_the_machine_are_plain_unless_asked() {
        for local in ["postgres://localhost/a", "postgres://127.0.0.1/a", "postgres://[::1]/a"] {
            assert!(is_plain(local, Encryption::Verified, SslDemand::None), "{local}");
            assert!(!is_plain(local, Encryption::Verified, SslDemand::Encrypted), "{local}");
        }
        let remote = "postgres://db.example/a";
        assert!(!is_plain(remote, Encryption::Verified, SslDemand::None));
        assert!(!is_plain(remote, Encryption::Verified, SslDemand::Encrypted));
        assert!(is_plain(remote, Encryption::Verified, SslDemand::Plain));
        assert!(is_plain(remote, Encryption::Off, SslDemand::None));
        let mixed = "postgres://localhost,db.example/a";
        assert!(!is_plain(mixed, Encryption::Verified, SslDemand::None));
        for address in
            ["postgres:///a?hostaddr=192.0.2.1", "postgres://localhost/a?hostaddr=192.0.2.1"]
        {
            assert!(!is_plain(address, Encryption::Verified, SslDemand::None), "{address}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_is_plain_whatever_is_demanded() {
        let socket = "postgres:///a?host=/run/postgresql";
        assert!(is_plain(socket, Encryption::Verified, SslDemand::Encrypted));
    }

    #[test]
    fn contradictory_options_are_refused() {
        let mut config = Config::from_str("postgres://localhost/a").unwrap();
        let refused = Transport::new(&mut config, Encryption::Off, SslDemand::Encrypted);
        assert_eq!(refused.err().unwrap().option, "tls");
    }

    #[test]
    fn certificates_must_be_pem() {
        let mut config = Config::from_str("postgres://db.example/a").unwrap();
        for wrong in ["", "no certificate"] {
            let encryption = Encryption::VerifiedBy(wrong.to_owned());
            let error = Transport::new(&mut config, encryption, SslDemand::None).err().unwrap();
            assert_eq!(error.option, "tls");
        }
    }
}
