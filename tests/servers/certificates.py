"""Certificates of an authority of our own, good and bad."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from tests.servers.raw_http import LOOPBACK

DAY = timedelta(days=1)
WEAK_BITS = 1024

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Authority:
    """Signs what it is asked to; its own certificate is in `file`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        built = _unsigned(name, name, self._key, -1, 10).add_extension(_basic(ca=True), True)
        self._own = built.add_extension(_signs_certificates(), True)
        self._name = name
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(_signed(self._own, self._key).public_bytes(serialization.Encoding.PEM))

    def context(self, name: str, *, starts: int = -1, ends: int = 10, host: str = LOOPBACK) -> ssl.SSLContext:
        """Of a server whose certificate is valid between these days from now, for this host."""
        return shown(self.certificate(name, starts=starts, ends=ends, host=host))

    def certificate(self, name: str, *, starts: int = -1, ends: int = 10, host: str = LOOPBACK) -> Path:
        """A file with the certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = _unsigned(name, self._name, key, starts, ends).add_extension(_names(host), False)
        return self._written(name, _signed(built, self._key), key)

    def weak(self, name: str) -> ssl.SSLContext:
        """Of a server with a key that can be guessed."""
        key = rsa.generate_private_key(65_537, WEAK_BITS)
        built = _unsigned(name, self._name, key, -1, 10).add_extension(_names(LOOPBACK), False)
        return shown(self._written(name, _signed(built, self._key), key))

    def signed_by_itself(self, name: str) -> Path:
        key = ec.generate_private_key(ec.SECP256R1())
        built = _unsigned(name, name, key, -1, 10).add_extension(_names(LOOPBACK), False)
        return self._written(name, _signed(built, key), key)

    def _written(self, name: str, certificate: x509.Certificate, key: Key) -> Path:
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        file = self._folder / f"{name}.pem"
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        file.write_bytes(certificate.public_bytes(pem) + private)
        return file


def shown(file: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # whoever shows a weak one does not mind
    context.load_cert_chain(file)
    return context


def _unsigned(name: str, issuer: str, key: Key, starts: int, ends: int) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_called(name))
        .issuer_name(_called(issuer))
        .public_key(key.public_key())
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + starts * DAY)
        .not_valid_after(now + ends * DAY)
    )


def _signed(built: x509.CertificateBuilder, by: Key) -> x509.Certificate:
    """Naming the key it is signed with, without which Python 3.13 trusts nobody."""
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key())
    return built.add_extension(signer, False).sign(by, hashes.SHA256())


def _signs_certificates() -> x509.KeyUsage:
    others = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    never = dict.fromkeys((*others, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(key_cert_sign=True, crl_sign=True, **never)


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _basic(*, ca: bool) -> x509.BasicConstraints:
    return x509.BasicConstraints(ca=ca, path_length=None)


def _names(host: str) -> x509.SubjectAlternativeName:
    numeric = host.replace(".", "").isdigit()
    return x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host)) if numeric else x509.DNSName(host)])
