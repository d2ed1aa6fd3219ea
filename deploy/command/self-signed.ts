import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** A certificate and its key, PEM. */
export interface KeyPair {
  key: string;
  cert: string;
}

const VALID_MS = 365 * 24 * 3_600_000;
/** Clocks of others may be a little behind. */
const BACKDATED_MS = 3_600_000;

/**
 * A certificate that is its own authority, made anew by each start: enough to encrypt where nobody gave us one, and no
 * proof of who we are. Node can't make certificates, so it is put together here (X.509 v3, ECDSA P-256).
 */
export function selfSignedCertificate(name: string, now = Date.now()): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid('2a8648ce3d040302')); // ecdsa-with-SHA256
  const subject = sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from(name))))); // CN
  const names = sequence(
    tagged(0x82, Buffer.from(name)),
    tagged(0x82, Buffer.from('localhost')),
    tagged(0x87, Buffer.from([127, 0, 0, 1])),
  );
  const toBeSigned = sequence(
    tagged(0xa0, integer(Buffer.from([2]))), // v3
    integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    algorithm,
    subject,
    sequence(time(now - BACKDATED_MS), time(now + VALID_MS)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(sequence(oid('551d11'), tagged(0x04, names)))), // subjectAltName
  );
  const signature = sign('sha256', toBeSigned, privateKey);
  const certificate = sequence(toBeSigned, algorithm, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines(certificate.toString('base64'))}-----END CERTIFICATE-----\n`,
  };
}

function tagged(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), length(body.length), body]);
}

function sequence(...content: Buffer[]): Buffer {
  return tagged(0x30, ...content);
}

function integer(value: Buffer): Buffer {
  return tagged(0x02, value);
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'));
}

/** UTCTime or GeneralizedTime. */
function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  // UTCTime up to 2049, as X.509 demands.
  return Number(text.slice(0, 4)) < 2050 ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text));
}

function length(value: number): Buffer {
  if (value < 0x80) return Buffer.from([value]);
  return value < 0x100 ? Buffer.from([0x81, value]) : Buffer.from([0x82, value >> 8, value & 0xff]);
}

function lines(base64: string): string {
  return base64.replace(/.{1,64}/g, (line) => `${line}\n`);
}
