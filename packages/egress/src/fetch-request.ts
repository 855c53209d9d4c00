import type { EgressDenial } from './denial.ts';
import type { CredentialBinding } from './egress-call.ts';
import type { Target } from './hosts/target.ts';

export interface FetchLimits {
  readonly redirects: number;
  /** Of the body as it comes out, after decompression. */
  readonly bodyBytes: number;
  readonly headerBytes: number;
  readonly headerCount: number;
  /** The whole of it, redirects included; not the time for which somebody is asked. */
  readonly totalMs: number;
}

export const DEFAULT_FETCH_LIMITS: FetchLimits = {
  redirects: 10,
  bodyBytes: 10 * 2 ** 20,
  headerBytes: 64 * 2 ** 10,
  headerCount: 128,
  totalMs: 60_000,
};

export interface FetchRequest {
  readonly url: string;
  /** GET unless told. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly limits?: Partial<FetchLimits>;
  /** Media types that are taken, as `text/*` or `application/json`; every one unless told. */
  readonly contentTypes?: readonly string[];
  /** `return`: a redirect is the answer, and nobody goes where it leads. Followed unless told. */
  readonly redirects?: 'follow' | 'return';
  /** For this one request, in the place of what its call has; asked when the host is reached. What it throws ends the request. */
  credential?(target: Target): Promise<CredentialBinding | undefined>;
  readonly signal?: AbortSignal;
}

export interface FetchHop {
  readonly url: string;
  readonly status: number;
}

export type FetchResult =
  | {
      readonly kind: 'response';
      readonly status: number;
      /** In the order they came, names in lower case. */
      readonly headers: readonly (readonly [name: string, value: string])[];
      readonly body: Uint8Array;
      /** Where the answer came from in the end. */
      readonly url: string;
      /** The redirects on the way there. */
      readonly hops: readonly FetchHop[];
    }
  /** `denied`: a rule was missing. `failed`: it was allowed, and went wrong. */
  | { readonly kind: 'denied' | 'failed'; readonly denial: EgressDenial; readonly hops: readonly FetchHop[] };
