import type { Client as RpcClient } from '@connectrpc/connect';
import type { DeviceService, Token as WireToken } from '@palyra/api';
import { Secret, type SecretText } from '@palyra/primitives';
import { said, time } from '../wire/plain.ts';
import { ask } from './call.ts';

/** A token, without its secret. */
export interface Token {
  readonly token_id: string;
  readonly principal: string;
  readonly kind: string;
  readonly actions: readonly string[];
  readonly expires_at?: string;
  /** 0 for one that is no enrolment token. */
  readonly uses_left: number;
  readonly active: boolean;
}

export interface NewToken {
  readonly kind: 'agent' | 'operator';
  readonly principal: string;
  /** All that the kind may unless told. */
  readonly actions?: readonly string[];
  readonly ttlMs: number;
  /** How many devices may enrol with it; unless told it is no enrolment token. */
  readonly uses?: number;
}

export interface CreatedToken {
  readonly token_id: string;
  /** Told this once. */
  readonly token: SecretText;
  readonly expires_at?: string;
}

export interface Tokens {
  create(token: NewToken): Promise<CreatedToken>;
  /** Newest first. */
  list(): Promise<readonly Token[]>;
  /** By its id or the last 4 or more characters of it. */
  revoke(id: string): Promise<void>;
}

export function createTokens(rpc: RpcClient<typeof DeviceService>): Tokens {
  return {
    async create({ kind, principal, actions = [], ttlMs, uses = 0 }) {
      const made = await ask(rpc.createToken({ kind, principal, actions: [...actions], ttlMs: BigInt(ttlMs), uses }));
      // SECURITY: T-24 — it shows itself to nobody who does not ask for it.
      const token = new Secret(made.token);
      return said<CreatedToken>({ token_id: made.tokenId, token, expires_at: time(made.expiresAt) });
    },
    async list() {
      const { tokens } = await ask(rpc.listTokens({}));
      return tokens.map(toToken);
    },
    async revoke(tokenId) {
      await ask(rpc.revokeToken({ tokenId }));
    },
  };
}

function toToken({ tokenId, principal, kind, actions, expiresAt, usesLeft, active }: WireToken): Token {
  const about = { principal, kind, actions, uses_left: usesLeft, active };
  return said<Token>({ token_id: tokenId, ...about, expires_at: time(expiresAt) });
}
