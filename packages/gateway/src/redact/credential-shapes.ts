import { isPlausiblePassword, isSecretSetting, looksLikeToken, looksRandom } from './looks-secret.ts';
import { ALNUM, BASE64, BASE64URL, type ByteSet, bytesOf, printableBut } from './shape-bytes.ts';
import type { ShapeRun, TokenShape } from './token-shapes.ts';

const run = (of: ByteSet, least: number, most: number): ShapeRun => ({ of, least, most });

const BLANK = bytesOf(' \t');
/** Blanks and line ends, also those that JSON and C escape; the letters behind the backslash count as text. */
const BREAKS = bytesOf(' \t\r\n\\');
const QUOTES = bytesOf('"\'`\\');
const LINE_OF_KEY = bytesOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\\r\n');
const NAME_TAIL = bytesOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-');
/** Of settings: no brackets, quotes or blanks, so that calls, templates and prose end it early. */
const VALUE = bytesOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.~!@#%^*-');

const KEY_FILE_KINDS = ['', 'RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED ', 'ANY '];
const KEY_FILE_BEGINS = [
  ...KEY_FILE_KINDS.map((kind) => `-----BEGIN ${kind}PRIVATE KEY`),
  '-----BEGIN PGP PRIVATE KEY BLOCK',
];

const SETTING_NAMES = [
  'password',
  'passwd',
  'passphrase',
  'passwort',
  'secret',
  'token',
  'apikey',
  'api_key',
  'api-key',
  'access_key',
  'access-key',
  'accesskey',
  'auth_key',
  'authkey',
  'private_key',
  'privatekey',
  'encryption_key',
  'signing_key',
  'credential',
];

/** Credentials that are known by what stands around them. */
export const CREDENTIAL_SHAPES: readonly TokenShape[] = [
  {
    id: 'jwt',
    begins: ['eyJ'],
    after: 'edge',
    parts: [
      run(BASE64URL, 10, 4096),
      '.eyJ',
      run(BASE64URL, 8, 16_384),
      '.',
      run(BASE64URL, 16, Number.POSITIVE_INFINITY),
    ],
    ends: 'open',
    hides: 'all',
    judge: looksLikeToken,
  },
  {
    id: 'private-key',
    begins: KEY_FILE_BEGINS,
    parts: ['-----', run(BREAKS, 0, 32), run(LINE_OF_KEY, 20, Number.POSITIVE_INFINITY)],
    ends: 'key_file',
    hides: 'all',
    judge: looksLikeToken,
  },
  {
    id: 'private-key',
    begins: KEY_FILE_BEGINS.flatMap((begin) =>
      ['Proc-Type: ', 'Version: ', 'Comment: '].flatMap((header) =>
        ['\n', '\r\n', '\\n', '\n\n'].map((end) => `${begin}-----${end}${header}`),
      ),
    ),
    parts: [run(ALNUM, 1, Number.POSITIVE_INFINITY)],
    ends: 'key_file',
    hides: 'all',
    judge: () => true,
  },
  {
    id: 'url-password',
    begins: ['://'],
    parts: [run(printableBut(':/?#"\'`<>[]{}()$\\'), 0, 128), ':', run(printableBut('/?#"\'`<>[]{}()\\'), 2, 512)],
    ends: 'run',
    hides: 'last_until_at',
    judge: isPlausiblePassword,
  },
  {
    id: 'azure-account-key',
    begins: ['accountkey=', 'sharedaccesskey='],
    anyCase: true,
    parts: [run(BASE64, 40, Number.POSITIVE_INFINITY)],
    ends: 'open',
    hides: 'last',
    judge: looksLikeToken,
  },
  {
    id: 'authorization',
    begins: [
      'bearer ',
      'authorization: basic ',
      'authorization: token ',
      'authorization":"basic ',
      'authorization": "basic ',
    ],
    anyCase: true,
    parts: [run(VALUE, 16, 4096)],
    ends: 'run',
    hides: 'last',
    judge: looksRandom,
  },
  {
    id: 'assigned-secret',
    begins: SETTING_NAMES,
    anyCase: true,
    after: 'setting',
    parts: [
      run(NAME_TAIL, 0, 32),
      run(bytesOf('"\'`]\\'), 0, 4),
      run(BLANK, 0, 16),
      run(bytesOf(':=>'), 1, 3),
      run(BLANK, 0, 16),
      run(QUOTES, 0, 4),
      run(VALUE, 16, 1024),
    ],
    ends: 'run',
    hides: 'last',
    judge: (value, name) => isSecretSetting(name) && looksRandom(value),
  },
  {
    id: 'assigned-secret',
    begins: [
      '--password',
      '--passphrase',
      '--token',
      '--secret',
      '--api-key',
      '--auth-token',
      '--access-token',
      '--client-secret',
    ],
    anyCase: true,
    parts: [run(bytesOf(' "\',[\n'), 1, 16), run(VALUE, 16, 1024)],
    ends: 'run',
    hides: 'last',
    judge: looksRandom,
  },
];
