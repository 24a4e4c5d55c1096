import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';

/** 32 MB and some 60 ms for each guess (RFC 7914; twice what OWASP asks for at least). */
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 } as const;
const BYTES = 32;

/** What is stored of a password: `scrypt$N$r$p$salt$hash`, the last two in base64. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const { N, r, p } = COST;
  const hash = await derive(password, salt, COST);
  return ['scrypt', N, r, p, salt.toString('base64'), hash.toString('base64')].join('$');
}

/** Whether it is the password that was stored. Takes as long where none was stored (`null`). */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
  const [, N = COST.N, r = COST.r, p = COST.p, salt = '', hash = ''] = stored?.split('$') ?? [];
  const options = { N: Number(N), r: Number(r), p: Number(p), maxmem: COST.maxmem };
  const derived = await derive(password, Buffer.from(salt, 'base64'), options);
  const expected = Buffer.from(hash, 'base64');
  return expected.length === derived.length && timingSafeEqual(expected, derived);
}

function derive(password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, BYTES, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
