import type { JsonObject, JsonValue } from '@palyra/primitives';

/** One request as a guest writes it. */
export interface GuestRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

const FIELDS = ['url', 'method', 'headers', 'body', 'body_base64'];

/** The request, or what is wrong with it. */
export function readRequest(written: JsonObject): GuestRequest | string {
  const { url, method, headers, body, body_base64: base64 } = written;
  const unknown = Object.keys(written).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) return `A request has ${FIELDS.join(', ')}, and no ${JSON.stringify(unknown)}.`;
  if (typeof url !== 'string' || !/^https?:\/\//i.test(url)) return 'The url is not one of http or https.';
  if (method !== undefined && typeof method !== 'string') return 'The method is no text.';
  if (headers !== undefined && !isRecordOfTexts(headers)) return 'The headers are no object of texts.';
  if ([body, base64].some((each) => each !== undefined && typeof each !== 'string')) return 'The body is no text.';
  if (body !== undefined && base64 !== undefined) return 'There are two bodies.';
  return {
    url,
    ...(method === undefined ? {} : { method }),
    ...(headers === undefined ? {} : { headers }),
    ...(typeof body === 'string' ? { body: Buffer.from(body) } : {}),
    ...(typeof base64 === 'string' ? { body: Buffer.from(base64, 'base64') } : {}),
  };
}

function isRecordOfTexts(value: JsonValue): value is Readonly<Record<string, string>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && Object.values(value).every((each) => typeof each === 'string');
}

/** Why a request does not go out with a secret on it that is in these headers; undefined: it does. */
export function whyNotWithSecret(request: GuestRequest, own: readonly string[]): string | undefined {
  const written = namesIn(request);
  // SECURITY: T-24 — the guest neither replaces the secret nor stands beside it. A server may read `_` in a name as `-`.
  if (own.map(folded).some((name) => written.includes(name))) return 'It writes a header that the secret is in.';
  return whyNotInParts(request);
}

/** SECURITY: T-24 — half of a secret is not recognised: an answer is looked through whole, and not cut as the guest likes. */
export function whyNotInParts(request: GuestRequest): string | undefined {
  const asksForPart = namesIn(request).some((name) => name === 'range' || name === 'request-range');
  return asksForPart ? 'It asks for a part of an answer, which could be a part of the secret.' : undefined;
}

function namesIn({ headers = {} }: GuestRequest): readonly string[] {
  return Object.keys(headers).map(folded);
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}
