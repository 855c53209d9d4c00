import type { Asked } from '@palyra/approvals';
import { type ApprovalsHome, createFakeCredentials, openApprovalsHome, sampleQuestion } from '@palyra/testkit';

/** As many as one principal may have open. */
const OF_ONE = 32;

/** A home in which so many questions are open, and somebody waits for each. */
export async function openWithPending(path: string, pending: number): Promise<ApprovalsHome> {
  const credentials = createFakeCredentials();
  credentials.issue('ada laptop', { person: 'ada' });
  const limits = { questionsPerWindow: 2 ** 30, coolDownAfter: 2 ** 30 };
  const home = await openApprovalsHome({ kind: 'sqlite', path }, { credentials, limits });
  await waitForMany(home, pending);
  return home;
}

export async function waitForMany({ approvals }: ApprovalsHome, count: number): Promise<void> {
  for (let first = 0; first < count; first += OF_ONE) {
    const principal = `agent:waiting ${first}`;
    const questions = Array.from({ length: Math.min(OF_ONE, count - first) }, (_, i) =>
      sampleQuestion({ argv: [`${first + i}`], principal }),
    );
    const asked = await Promise.all(questions.map((question) => approvals.ask(question)));
    // Whoever still waits when the home is closed is told so.
    for (const each of asked) approvals.wait(each as Asked).catch(() => undefined);
  }
}
