import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const ENTRY = 'packages/journal/src/verify/standalone.ts';
const PAGE = 'tools/release/verify-page.html';

/**
 * Writes the verifier for people who have nothing else of Palyra: `palyra-verify.mjs` for Node and pages, and
 * `palyra-verify.html`, which is the same in a page. Both are whole: they load nothing.
 */
export async function buildStandaloneVerifier(root: string, target: string): Promise<void> {
  const script = await bundleVerifier(join(root, ENTRY));
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'palyra-verify.mjs'), script);
  writeFileSync(join(target, 'palyra-verify.html'), pageWith(script, readFileSync(join(root, PAGE), 'utf8')));
}

/** Not minified: whoever is to trust it should be able to read it. */
export async function bundleVerifier(entry: string): Promise<string> {
  const bundle = await rolldown({
    input: entry,
    platform: 'browser',
    tsconfig: false,
    resolve: { conditionNames: ['palyra-source', 'import', 'default'] },
    // A module that cannot be found here would be looked for where the file is used, and is not there either.
    onLog: (_level, log) => {
      throw new Error(`The verifier does not bundle: ${log.message}`);
    },
  });
  try {
    const { output } = await bundle.generate({ format: 'es', comments: false });
    const [chunk, ...others] = output;
    if (others.length > 0 || chunk.imports.length > 0 || chunk.dynamicImports.length > 0) {
      throw new Error(`The verifier is not one file: ${[...chunk.imports, ...chunk.dynamicImports].join(', ')}`);
    }
    return chunk.code;
  } finally {
    await bundle.close();
  }
}

/** The page with the verifier in it, and a policy that lets exactly its own scripts and style run, and nothing be loaded. */
function pageWith(script: string, page: string): string {
  // SECURITY: T-31 — a page that could load anything could show any verdict; and what is checked stays on the machine.
  if (/<\/script/i.test(script)) throw new Error('The verifier holds text that would end its script.');
  const whole = page.replace('/* VERIFIER */', () => `\n${script}`);
  const hashes = (tag: string) =>
    [...whole.matchAll(new RegExp(`<${tag}(?: [^>]*)?>(.*?)</${tag}>`, 'gs'))].map(([, text = '']) => hashOf(text));
  const policy = [
    "default-src 'none'",
    `script-src ${hashes('script').join(' ')}`,
    `style-src ${hashes('style').join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return whole.replace('POLICY', () => policy);
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
