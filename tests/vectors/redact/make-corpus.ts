/** Writes positives.json and negatives.json: `node --conditions=palyra-source tests/vectors/redact/make-corpus.ts`. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;
const ALNUM = LOWER + UPPER + DIGITS;
const URL64 = `${ALNUM}-_`;
const B64 = `${ALNUM}+/`;

let seed = 20_261_116;
/** mulberry32: the same corpus every time. */
function random(): number {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
const some = (alphabet: string, count: number): string =>
  Array.from({ length: count }, () => alphabet.charAt(Math.floor(random() * alphabet.length))).join('');

interface Positive {
  readonly id: string;
  /** `token`: a shape of its own. `setting`: known by its name. `weak`: secret to a reader, not to a shape. */
  readonly kind: 'token' | 'setting' | 'weak';
  readonly before: string;
  /** In pieces, so that no file of ours holds what scanners of repositories take for a token. */
  readonly secret: readonly string[];
  readonly after: string;
}

type Make = () => readonly string[];
const prefixed = (prefix: string, alphabet: string, count: number): Make => () => [prefix, some(alphabet, count)];
const json64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const TOKENS: readonly (readonly [id: string, make: Make])[] = [
  ['aws-access-key-id', prefixed('AKIA', `${UPPER}234567`, 16)],
  ['aws-access-key-id', prefixed('ASIA', `${UPPER}234567`, 16)],
  ['google-api-key', prefixed('AIza', URL64, 35)],
  ['google-oauth-token', prefixed('ya29.', URL64, 120)],
  ['google-client-secret', prefixed('GOCSPX-', URL64, 28)],
  ['alibaba-access-key-id', prefixed('LTAI', ALNUM, 20)],
  ['tencent-secret-id', prefixed('AKID', ALNUM, 32)],
  ['digitalocean-token', prefixed('dop_v1_', HEX, 64)],
  ['heroku-token', prefixed('HRKU-AA', URL64, 58)],
  ['fly-token', prefixed('fm2_', URL64, 80)],
  ['databricks-token', prefixed('dapi', HEX, 32)],
  ['planetscale-token', prefixed('pscale_tkn_', URL64, 43)],
  ['supabase-token', prefixed('sbp_', HEX, 40)],
  ['pulumi-token', prefixed('pul-', HEX, 40)],
  ['vault-token', prefixed('hvs.', URL64, 90)],
  ['doppler-token', prefixed('dp.pt.', ALNUM, 43)],
  ['tailscale-key', prefixed('tskey-auth-', URL64, 40)],
  ['age-secret-key', prefixed('AGE-SECRET-KEY-1', 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)],
  ['github-token', prefixed('ghp_', ALNUM, 36)],
  ['github-token', prefixed('ghs_', ALNUM, 36)],
  ['github-fine-grained-token', () => ['github_pat_', some(ALNUM, 22), '_', some(ALNUM, 59)]],
  ['gitlab-token', prefixed('glpat-', URL64, 20)],
  ['gitlab-token', prefixed('glrt-', URL64, 20)],
  ['bitbucket-app-password', prefixed('ATBB', ALNUM, 32)],
  ['atlassian-token', prefixed('ATATT3', URL64, 180)],
  ['npm-token', prefixed('npm_', ALNUM, 36)],
  ['pypi-token', prefixed('pypi-AgEIcHlwaS5vcmc', URL64, 130)],
  ['rubygems-token', prefixed('rubygems_', HEX, 48)],
  ['crates-token', prefixed('cio', ALNUM, 32)],
  ['nuget-key', prefixed('oy2', LOWER + DIGITS, 43)],
  ['docker-hub-token', prefixed('dckr_pat_', URL64, 27)],
  ['sentry-token', prefixed('sntryu_', HEX, 64)],
  ['grafana-token', () => ['glsa_', some(ALNUM, 32), '_', some(HEX, 8)]],
  ['new-relic-key', prefixed('NRAK-', UPPER + DIGITS, 27)],
  ['postman-key', () => ['PMAK-', some(HEX, 24), '-', some(HEX, 34)]],
  ['linear-key', prefixed('lin_api_', ALNUM, 40)],
  ['figma-token', prefixed('figd_', URL64, 43)],
  ['airtable-token', () => ['pat', some(ALNUM, 14), '.', some(HEX, 64)]],
  ['notion-token', prefixed('ntn_', ALNUM, 46)],
  ['slack-token', () => ['xoxb-', some(DIGITS, 12), '-', some(DIGITS, 12), '-', some(ALNUM, 24)]],
  ['slack-token', () => ['xapp-', '1-A', some(UPPER + DIGITS, 10), '-', some(DIGITS, 12), '-', some(HEX, 64)]],
  ['slack-webhook', () => ['hooks.slack.com/', 'services/T', some(UPPER + DIGITS, 9), '/B', some(UPPER + DIGITS, 9), '/', some(ALNUM, 24)]],
  ['discord-webhook', () => ['discord.com/api/', 'webhooks/', some(DIGITS, 18), '/', some(URL64, 68)]],
  ['sendgrid-key', () => ['SG.', some(URL64, 22), '.', some(URL64, 43)]],
  ['mailgun-key', prefixed('key-', HEX, 32)],
  ['twilio-key', prefixed('SK', HEX, 32)],
  ['stripe-key', prefixed('sk_live_', ALNUM, 24)],
  ['stripe-key', prefixed('rk_test_', ALNUM, 99)],
  ['square-token', prefixed('sq0atp-', URL64, 22)],
  ['shopify-token', prefixed('shpat_', HEX, 32)],
  ['anthropic-key', prefixed('sk-ant-', URL64, 100)],
  ['openai-key', prefixed('sk-proj-', URL64, 120)],
  ['openai-legacy-key', prefixed('sk-', ALNUM, 48)],
  ['openrouter-key', prefixed('sk-or-v1-', HEX, 64)],
  ['hugging-face-token', prefixed('hf_', LOWER + UPPER, 34)],
  ['groq-key', prefixed('gsk_', ALNUM, 52)],
  ['xai-key', prefixed('xai-', ALNUM, 80)],
  ['perplexity-key', prefixed('pplx-', ALNUM, 48)],
  ['replicate-token', prefixed('r8_', ALNUM, 37)],
  ['jwt', () => [json64({ alg: 'HS256', typ: 'JWT' }), '.', json64({ sub: some(ALNUM, 12), iat: 1 }), '.', some(URL64, 43)]],
];

/** Where tokens turn up. */
const PLACES: readonly (readonly [before: string, after: string])[] = [
  ['', ''],
  ['using ', ' to log in\n'],
  ['export API=', '\n'],
  ['{"message":"first line\\n', '\\nlast line"}'],
  ['https://api.internal/v1/items?page=2&key=', '&sort=asc'],
  ['\u001b[32m', '\u001b[0m\n'],
  ["curl -H 'X-Auth: ", "' https://api.internal/"],
  ['<value>', '</value>'],
];

const tokens = TOKENS.flatMap(([id, make]) =>
  PLACES.map(([before, after]): Positive => ({ id, kind: 'token', before, secret: make(), after })),
);

function positive(id: string, kind: Positive['kind'], [before, after]: readonly [string, string], ...secret: string[]): Positive {
  return { id, kind, before, secret, after };
}

const pemBody = (lines: number, end: string): string => Array.from({ length: lines }, () => some(B64, 64)).join(end);
const PEM_KINDS = ['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '];
const keys = PEM_KINDS.flatMap((kind) => [
  positive('private-key', 'token', ['$ cat key.pem\n', '\n$ '], `-----BEGIN ${kind}`, 'PRIVATE KEY-----\n', pemBody(12, '\n'), `\n-----END ${kind}PRIVATE KEY-----`),
  positive('private-key', 'token', ['{"private_key":"', '\\n"}'], `-----BEGIN ${kind}`, 'PRIVATE KEY-----\\n', pemBody(12, '\\n'), `\\n-----END ${kind}PRIVATE KEY-----`),
  positive('private-key', 'token', ['tls:\n  key: |\n    ', '\nother: 1\n'], `-----BEGIN ${kind}`, 'PRIVATE KEY-----\n    ', pemBody(8, '\n    '), `\n    -----END ${kind}PRIVATE KEY-----`),
  positive('private-key', 'token', ['cut off: ', ''], `-----BEGIN ${kind}`, 'PRIVATE KEY-----\n', pemBody(3, '\n')),
]);

const SCHEMES = ['postgres', 'postgresql', 'mysql', 'mongodb+srv', 'redis', 'amqps', 'https', 'ftp', 'smtp', 'clickhouse'];
const addresses = SCHEMES.flatMap((scheme) => [
  positive('url-password', 'setting', [`DATABASE_URL=${scheme}://app:`, '@db.internal:5432/main\n'], some(ALNUM, 14)),
  positive('url-password', 'setting', [`"${scheme}://:`, '@cache:6379/0"'], some(URL64, 20)),
  positive('url-password', 'setting', [`dial ${scheme}://svc:`, '@10.0.0.7/x: refused'], 'p@', some(LOWER, 8), '%21'),
  // Not allowed unencoded, and found in the wild all the same.
  positive('url-password', 'weak', [`${scheme}://svc:`, '@10.0.0.7/x'], some(LOWER, 4), '/', some(LOWER, 4)),
]);

const SETTINGS: readonly (readonly [before: string, after: string])[] = [
  ['PASSWORD=', '\n'],
  ['export GITEA_TOKEN=', '\n'],
  ['  client_secret: ', '\n'],
  ['{"apiKey":"', '"}'],
  ['{\\"access_token\\":\\"', '\\"}'],
  ['aws_secret_access_key = ', '\n'],
  ["const secretKey = '", "';"],
  ['<password>', '</password>'],
  ["config['api_key'] = '", "'"],
  ['docker login --password ', ' host'],
  ['$env:AUTH_TOKEN="', '"'],
  ['db.password := "', '"'],
];
const settings = SETTINGS.flatMap((place) => [
  positive('assigned-secret', 'setting', place, some(ALNUM, 20)),
  positive('assigned-secret', 'setting', place, some(URL64, 32)),
  positive('assigned-secret', 'setting', place, some(HEX, 40)),
  positive('assigned-secret', 'setting', place, some(`${B64}`, 40)),
  positive('assigned-secret', 'setting', place, some(LOWER + DIGITS, 16)),
  positive('assigned-secret', 'weak', place, some(LOWER, 5), some(DIGITS, 2)),
  positive('assigned-secret', 'weak', place, 'correct-horse-', some(LOWER, 7)),
]);

const HEADERS: readonly (readonly [before: string, after: string])[] = [
  ['> Authorization: Bearer ', '\r\n'],
  ['authorization: bearer ', '\n'],
  ['"Authorization": "Bearer ', '"'],
];
const headers = HEADERS.flatMap((place) => [
  positive('authorization', 'setting', place, some(ALNUM, 32)),
  positive('authorization', 'setting', place, some(URL64, 64)),
]);
const basic = positive('authorization', 'setting', ['Authorization: Basic ', '\r\n'], Buffer.from(`admin:${some(ALNUM, 14)}`).toString('base64'));
const azure = positive('azure-account-key', 'setting', ['AccountName=x;AccountKey=', ';EndpointSuffix=y'], some(B64, 86), '==');

const sha = (algorithm: string, encoding: 'hex' | 'base64' = 'hex'): string =>
  createHash(algorithm).update(some(ALNUM, 16)).digest(encoding);
const uuid = (): string => [8, 4, 4, 4, 12].map((count) => some(HEX, count)).join('-');
const ulid = (): string => `01J${some('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 23)}`;
const many = (count: number, make: () => string): string[] => Array.from({ length: count }, make);

const generated: Readonly<Record<string, readonly string[]>> = {
  'git-sha': [...many(10, () => `commit ${sha('sha1')}\nAuthor: Ann <ann@host>`), ...many(10, () => `${sha('sha1').slice(0, 7)} fix: token refresh`), ...many(10, () => `index ${sha('sha1').slice(0, 11)}..${sha('sha1').slice(0, 11)} 100644`)],
  uuid: [...many(10, () => `{"id":"${uuid()}"}`), ...many(10, () => `token_id: ${uuid()}`), ...many(5, () => `secret = ${uuid()}`)],
  ulid: [...many(10, () => `run ${ulid()} finished`), ...many(10, () => `token: ${ulid()}`)],
  hash: [...many(10, () => `${sha('sha256')}  dist/app.js`), ...many(10, () => `image@sha256:${sha('sha256')}`), ...many(10, () => `ETag: "${sha('md5')}"`), ...many(10, () => `"passwordHash": "${sha('sha256')}"`), ...many(5, () => `token_sha256=${sha('sha256')}`)],
  integrity: [...many(20, () => `      "integrity": "sha512-${sha('sha512', 'base64')}",`), ...many(10, () => `  integrity sha1-${sha('sha1', 'base64')}`), ...many(5, () => `h1:${sha('sha256', 'base64')}`)],
  'base64-image': many(20, () => `<img src="data:image/png;base64,iVBORw0KGgo${some(B64, 900)}=">`),
  base64: [...many(20, () => some(B64, 76)), ...many(5, () => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5${some(B64, 48)} ann@host`), ...many(5, () => `-----BEGIN CERTIFICATE-----\n${pemBody(6, '\n')}\n-----END CERTIFICATE-----`), ...many(5, () => `-----BEGIN PUBLIC KEY-----\n${pemBody(2, '\n')}\n-----END PUBLIC KEY-----`)],
  'source-map': many(10, () => `//# sourceMappingURL=data:application/json;base64,${json64({ version: 3, sources: [some(LOWER, 9)] })}`),
  /** Random, named a token and no secret. */
  'page-token': [...many(4, () => `"nextPageToken": "${some(URL64, 40)}"`), ...many(2, () => `continuation_token=${some(URL64, 60)}`)],
};

const written: Readonly<Record<string, readonly string[]>> = {
  prose: [
    'The password must have at least 16 characters, one digit and one symbol.',
    'Set the token: it is shown once, so copy it before closing the window.',
    'Secrets are values that redact themselves; they never enter argv.',
    'A bearer token is sent in the Authorization header: Bearer <token>.',
    'Our api_key: see https://docs.internal/handbook/api-keys-and-tokens-2024.html',
    'Paste the key between -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- lines.',
    'Tokens begin with ghp_, glpat-, xoxb- or sk_live_, and every vendor documents its own.',
    'Use AKIAIOSFODNN7EXAMPLE as in the documentation of the vendor.',
    'Write to ann@example.org: the meeting is at 10:30, room 4@2.',
    'Ratio 16:9@60Hz, see http://host:8080/@scope/name and https://user@host/path',
  ],
  placeholder: [
    'GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    'STRIPE=sk_live_XXXXXXXXXXXXXXXXXXXXXXXX',
    'password = "your-password-goes-here-1"',
    'API_KEY=<your api key>',
    'token: ${{ secrets.DEPLOY_TOKEN_2 }}',
    'postgres://user:password@localhost:5432/app',
    'postgres://$DB_USER:$DB_PASSWORD@localhost/app',
    'postgres://user:${PASSWORD}@localhost/app',
    'mysql://root:********@db/main',
    'redis://:<password>@cache:6379',
    'secret: changeme',
    'client_secret=$(pass show oauth/client)',
  ],
  source: [
    'const token = await session.getAccessToken2({ refresh: true });',
    'function readPassword(prompt: string): Promise<SecretText> {',
    'password: string;',
    'export const TOKEN_SHAPES: readonly TokenShape[] = [];',
    'if (token.kind === SyntaxKind.Base64Literal2) return parseTemplate(token);',
    'tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased-v2")',
    'this.secretName = process.env.SECRET_NAME_V2 ?? "app-prod-eu-west-1";',
    'secretKeyRef: { name: postgres-credentials-v2, key: password }',
    'exports.AuthenticationMD5Password = AuthenticationMD5Password;',
    'const apiKey = config.get("services.payments.apiKey1");',
    '<input type="password" name="password" id="login-password-field-2">',
    '.sk-loading-spinner-container-2021 { color: #a1b2c3d4 }',
    'token_type: "Bearer", expires_in: 3600, scope: "read:user2 write:repo3"',
    'access_key_id = os.environ["AWS_ACCESS_KEY_ID"]',
    'passwordField.sendKeys(Keys.chord(Keys.CONTROL, "a"));',
    'token = next(iter(tokens)); secret = hashlib.sha256(seed).hexdigest()',
    'npm_config_registry=http://127.0.0.1:4873/',
    'import hf_hub; hf_hub.hf_hub_download_with_progress_and_retries2(path)',
    'private_key_path: /etc/ssl/private/server-2024-rsa4096.pem',
    'mask: (names) => `[secret:${names.join(",")}]`',
    '[secret:DEPLOY_KEY_2024_PROD_X7] was masked',
  ],
  minified: [
    'var e=t(1),n=t.n(e);function r(e,t){return e.token=t,e.secret=n.a.b(t),e}r.password=function(e){return e};',
    '!function(){"use strict";var a={token:function(b){return b&&b.length>16?b.slice(0,16):b}};self.a=a}();',
    'const{apiKey:a,authToken:b}=c;d({password:a||b,token:e?f:g,secret:h.i.j.k1.l2.m3})',
  ],
  output: [
    'drwxr-xr-x 2 root root 4096 Nov 16 07:56 node_modules',
    'PASS packages/vault/src/secret.test.ts (12 tests) 34ms',
    'Downloading model-00001-of-00002.safetensors: 45%|####5     | 2.2G/4.9G',
    'error[E0425]: cannot find value `token_stream2` in this scope',
    '2026-11-16T08:10:00.000Z INFO request id=7f3a token=redacted status=200',
    'Accepted password for ann from 10.0.0.7 port 52314 ssh2',
    'tcp 0 0 127.0.0.1:5432 0.0.0.0:* LISTEN 1234/postgres',
    'x-amz-request-id: TX000000000000000000001',
  ],
};

const negatives = Object.entries({ ...generated, ...written }).flatMap(([kind, texts]) => texts.map((text) => ({ kind, text })));
const positives = [...tokens, ...keys, ...addresses, ...settings, ...headers, basic, azure];
const asLines = (corpus: readonly object[]): string => `[\n${corpus.map((item) => JSON.stringify(item)).join(',\n')}\n]\n`;

/** By file name. */
export const REDACT_CORPUS: ReadonlyMap<string, string> = new Map([
  ['positives.json', asLines(positives)],
  ['negatives.json', asLines(negatives)],
]);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, text] of REDACT_CORPUS) writeFileSync(new URL(name, import.meta.url), text);
}
