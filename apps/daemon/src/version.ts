import { readFileSync } from 'node:fs';

/** From the package's own manifest, which lies one level up from the sources and from the compiled files alike. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return String(Object(manifest).version);
}
