import { fileURLToPath } from 'node:url';
import type { StartCodex } from './codex-session.ts';
import type { FakeModel } from './fake-model.ts';

/** The model's name in the box. */
export const MODEL = 'model.example';

/** `palyra`, for Node. */
export const PALYRA_WORDS: readonly string[] = [
  '--conditions=palyra-source',
  fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url)),
];

/** palyra.toml, in which these names, the model's and those of Codex's profile lead to this machine's loopback. */
export function leadingHere(names: readonly string[], ports: readonly number[]): string {
  const all = [MODEL, ...names, 'api.openai.com', 'auth.openai.com', 'chatgpt.com'];
  return `[egress]
hosts = "${all.map((name) => `${name}=127.0.0.1`).join(', ')}"
private_ranges = "${ports.map((port) => `127.0.0.1:${port}`).join(', ')}"
`;
}

/** `palyra wrap -- codex …`, with the model by the name that it has in the box. */
export const wrapped: StartCodex = ([node, codex = '', ...rest], { model, palyrad }) => {
  const host = `${MODEL}:${model.port}`;
  const agent = [codex, ...rest].map((word) => inBox(word, model));
  return [node, ...PALYRA_WORDS, 'wrap', '--home', palyrad.home.root, '--net', host, '--', ...agent];
};

/** An address of the model's, as it is in the box. */
export function inBox(text: string, { port }: FakeModel): string {
  return text.replaceAll(`127.0.0.1:${port}`, `${MODEL}:${port}`);
}
