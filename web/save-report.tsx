import { useState } from 'preact/hooks';
import type { LoopRef } from '../src/loops/loops.ts';
import { htmlReport, REPORT_STYLE } from '../src/text/report-html.ts';
import { ask, reasonOf } from './api.ts';
import { shown } from './shown.ts';

/** Saves what `ralph report --format html` writes. */
export function SaveReport({ loop }: { readonly loop: LoopRef }) {
  const [trouble, setTrouble] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    const { id, name, workspace } = loop;
    try {
      const facts = await ask('facts', [
        { id, name, workspace },
        { since: 0, countsTests: true },
      ]);
      const styleHash = await hashOf(REPORT_STYLE);
      const html = htmlReport([facts], { heading: null, home: undefined, madeAt: Date.now(), styleHash });
      const address = URL.createObjectURL(new Blob([html], { type: 'text/html' }));
      const link = document.createElement('a');
      Object.assign(link, { href: address, download: `${name}.html` });
      link.click();
      URL.revokeObjectURL(address);
      setTrouble(null);
    } catch (error) {
      setTrouble(reasonOf(error));
    }
  };
  return (
    <p>
      <button type="button" onClick={() => void save()}>
        Save the report as HTML
      </button>
      {trouble !== null && <span class="red"> {shown(trouble)}</span>}
    </p>
  );
}

/** SHA-256 in Base64. */
async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...new Uint8Array(digest)));
}
