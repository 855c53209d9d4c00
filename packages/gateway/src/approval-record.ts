import { type ApprovalsDeps, promptDigest } from '@palyra/approvals';
import { type Journal, type JournalEntry, JournalError } from '@palyra/journal';

/** What the signed record says of approvals, where rows could have been set back, renamed or edited. */
export type ApprovalRecord = Pick<Required<ApprovalsDeps>, 'isSpent' | 'wasAsked' | 'erasedPrompts'>;

const PAGE = 1000;

/** SECURITY: T-46 — reads on from where it stopped, so that what another process recorded is known when it is asked. */
export function createApprovalRecord(journal: Pick<Journal, 'query' | 'bodies' | 'entryOf'>): ApprovalRecord {
  /** Used up, taken back, or ended without a yes. */
  const spent = new Set<string>();
  /** Commitments of the prompts, as they were asked. */
  const prompts = new Map<string, string>();
  /** The other way round. */
  const asked = new Map<string, string>();
  const erased = new Set<string>();
  /** Bodies that were erased and are of no question of this log. */
  const otherErased = new Set<string>();
  let cursor: number | undefined;
  let reading: Promise<void> = Promise.resolve();

  const note = ({ kind, data }: JournalEntry) => {
    if (kind === 'approval.requested') {
      prompts.set(data.approval_id, data.prompt);
      asked.set(data.prompt, data.approval_id);
    }
    if (kind === 'body.erased') {
      const approvalId = asked.get(data.body);
      if (approvalId === undefined) otherErased.add(data.body);
      else erased.add(approvalId);
    }
    if (kind === 'approval.decided' && data.outcome !== 'approved') spent.add(data.approval_id);
    if (kind !== 'grant' || data.approval_id === undefined) return;
    const { grant_id, approval_id, change } = data;
    // A yes for one use is recorded as a grant of its own id.
    if (change === 'revoked' || (change === 'used' && grant_id === approval_id)) spent.add(approval_id);
  };
  const readPages = async () => {
    for (let isMore = true; isMore; ) {
      const page = await journal.query({
        kinds: ['grant', 'approval.requested', 'approval.decided', 'body.erased'],
        limit: PAGE,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const entry of page.entries) note(entry);
      cursor = page.entries.at(-1)?.seq ?? cursor;
      isMore = page.next !== undefined;
    }
  };
  /** Two that ask at once read once more each: what was recorded between them counts for the second. */
  const readOn = (): Promise<void> => {
    reading = reading.catch(() => undefined).then(readPages);
    return reading;
  };

  return {
    async isSpent(id) {
      if (!spent.has(id)) await readOn();
      return spent.has(id);
    },
    async wasAsked(id, prompt) {
      if (!prompts.has(id)) await readOn();
      const commitment = prompts.get(id);
      if (commitment === undefined) return false;
      const bytes = await readUnlessErased(commitment, journal);
      return bytes !== undefined && promptDigest(Buffer.from(bytes).toString('utf8')) === prompt;
    },
    async erasedPrompts() {
      await readOn();
      // Of a question that was asked before the journal was recovered.
      for (const commitment of otherErased) {
        const entry = await journal.entryOf(commitment);
        if (entry?.kind === 'approval.requested' && entry.data.prompt === commitment)
          erased.add(entry.data.approval_id);
        otherErased.delete(commitment);
      }
      return [...erased];
    },
  };
}

/** Nothing says any more what was asked then: a fault would refuse every call that a grant of it covers. */
async function readUnlessErased(
  commitment: string,
  { bodies }: Pick<Journal, 'bodies'>,
): Promise<Uint8Array | undefined> {
  try {
    return (await bodies.read(commitment)).bytes;
  } catch (error) {
    if (error instanceof JournalError && error.code === 'journal.body_erased') return undefined;
    throw error;
  }
}
