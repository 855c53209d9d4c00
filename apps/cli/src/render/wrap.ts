/** Lines of at most `width` columns, broken between words; a word that is longer stays whole. */
export function wrap(text: string, width: number): readonly string[] {
  const wrapped: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      wrapped.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return line === '' ? wrapped : [...wrapped, line];
}
