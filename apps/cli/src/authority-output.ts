import type { CertificateAuthority, RollOverState } from '@palyra/identity';
import type { IdentityModule } from './identity-home.ts';
import type { Paint } from './render/paint.ts';
import { renderColumns } from './render/table.ts';

type Authorities = ReturnType<CertificateAuthority['trusted']>;

export interface AuthorityOutput {
  readonly json: Readonly<Record<string, unknown>>;
  render(paint: Paint): string;
}

/** The authorities that count now, where the roll-over stands, and what comes when. */
export function authorityOutput(authorities: Authorities, { rollOverState }: IdentityModule): AuthorityOutput {
  const state = rollOverState(authorities);
  const dueAt = new Date(state.dueAt).toISOString();
  return {
    json: {
      roll_over: { state: state.kind, next: state.next, due_at: dueAt },
      authorities: authorities.map((each) => ({
        sha256: each.id,
        state: each.state,
        created_at: new Date(each.createdAt).toISOString(),
        trusted_until: new Date(each.trustedUntil).toISOString(),
      })),
    },
    render(paint) {
      const rows = authorities.map(({ id, state: each, trustedUntil }) => [
        id.slice(0, 16),
        each,
        new Date(trustedUntil).toISOString().slice(0, 10),
      ]);
      const [heading = '', ...lines] = renderColumns([['AUTHORITY', 'STATE', 'TRUSTED UNTIL'], ...rows]);
      return [paint('title', heading), ...lines, '', sentenceOf(state, dueAt.slice(0, 10)), ''].join('\n');
    },
  };
}

function sentenceOf({ kind }: RollOverState, day: string): string {
  switch (kind) {
    case 'steady':
      return `No roll-over is under way; palyrad prepares the next authority from ${day} on.`;
    case 'prepared':
      return `The next authority is made and told to devices that renew; it signs from ${day} on.`;
    case 'activated':
      return `The new authority signs; certificates of the old one count until ${day}.`;
  }
}
