import { posix } from 'node:path';
import { type Repository, workspacesOf } from './repository.ts';

/** Less than this cannot say what a package does, what it leaves to others and where to begin reading. */
const MIN_PROSE = 400;

export function checkReadmes(repository: Repository): string[] {
  return workspacesOf(repository).flatMap((directory) => {
    const path = `${directory}/README.md`;
    if (!repository.files.includes(path)) return [`${path}: is missing`];
    return checkReadme(path, posix.basename(directory), repository.read(path));
  });
}

function checkReadme(path: string, name: string, text: string): string[] {
  const faults: string[] = [];
  const [title = ''] = text.split('\n');
  if (!title.startsWith('# ') || !title.toLowerCase().includes(name))
    faults.push(`${path}: its title does not name ${name}`);
  if (proseOf(text).length < MIN_PROSE) faults.push(`${path}: has less than ${MIN_PROSE} characters of text`);
  return faults;
}

/** Without headings and code. */
function proseOf(text: string): string {
  return text
    .replaceAll(/```.*?```/gs, '')
    .replaceAll(/^#.*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
