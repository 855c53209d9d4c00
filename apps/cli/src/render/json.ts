/** One document on one line. Characters that a terminal acts upon or hides are escaped, which means the same in JSON. */
export function renderJson(value: unknown): string {
  const text = JSON.stringify(value);
  const safe = text.replaceAll(/[\u007F-\u009F\u2028\u2029\p{Cf}]/gu, (character) => {
    return character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('');
  });
  return `${safe}\n`;
}
