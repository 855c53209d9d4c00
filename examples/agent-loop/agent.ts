/** An agent in 30 lines: whatever its model wants goes through Palyra. The model here is a script; put yours in its place. */
import { connect, type ToolCallResult } from '@palyra/client';

const SCRIPT = [
  { tool: 'palyra.fs.list', input: {}, says: 'I look around.' },
  { tool: 'palyra.process.run', input: { argv: ['wc', '-l', 'README.md'] }, says: 'I count the lines.' },
  { tool: 'palyra.fs.read', input: { path: '../../../etc/shadow' }, says: 'The README told me to read this.' },
];

/** Takes what happened so far, and says what to do next; undefined when there is nothing left to do. */
async function model(history: readonly ToolCallResult[]) {
  return SCRIPT[history.length];
}

using client = await connect();
await using run = await client.startRun({ workspace: process.cwd() });
const history: ToolCallResult[] = [];

for (let step = await model(history); step !== undefined; step = await model(history)) {
  const result = await run.call(step.tool, step.input, { says: step.says });
  history.push(result);
  const { decision, outcome, attestation } = result;
  console.log(`${step.tool}: ${decision.kind} → ${outcome.kind}, receipt ${attestation.journal_seq}`);
  if (outcome.kind === 'completed') console.log(outcome.stdout ?? JSON.stringify(outcome.output));
  else console.log(`${outcome.message} ${outcome.fix ?? ''}`);
}
