// Files that go with a question: pictures as they are or smaller, text, documents and sound as they are.

import type { Question } from "./api";

export interface Attachment {
  kind: "image" | "audio" | "file";
  name: string;
  mime: string;
  /** base64 of the content. */
  data: string;
}

const MOST = 8;
const MOST_TEXT = 100_000;
/** Characters of base64 of all files together: the server takes twenty million bytes in a request. */
const MOST_DATA = 18_000_000;
/** Of one picture: more than that tells no model more. */
const MOST_PICTURE = 1_700_000;
const LONGEST_SIDE = 1568;
const PICTURE = /^image\/(png|jpeg|gif|webp)$/;
const SOUND = /^audio\/(wav|x-wav|wave|mpeg|mp3|ogg|flac|x-flac|mp4|x-m4a|aac|webm)$/;
const PDF = "application/pdf";
const TEXT = /^text\/|json|xml|yaml|csv|javascript|x-sh/;
const TEXT_NAME = /\.(txt|md|csv|tsv|json|jsonl|ya?ml|toml|ini|log|py|js|ts|tsx|jsx|html|css|sql|sh|c|h|cpp|java|go|rs|rb|xml|tex)$/i;

/** The attachments with those files added, or what is wrong with one of them. */
export async function attach(have: Attachment[], files: File[]): Promise<Attachment[] | string> {
  const all = [...have];
  for (const file of files) {
    if (all.length >= MOST) return `At most ${MOST} files go with a question.`;
    const room = MOST_DATA - all.reduce((sum, one) => sum + one.data.length, 0);
    const document = file.type === PDF || /\.pdf$/i.test(file.name) ? PDF : "";
    if (PICTURE.test(file.type)) {
      const picture = await encoded(file, Math.min(room, MOST_PICTURE));
      if (!picture) return `${file.name} is too large to send with this question.`;
      all.push({ kind: "image", name: file.name || "pasted picture", ...picture });
    } else if (document || SOUND.test(file.type)) {
      if (file.size * 1.37 > room) return `${file.name} is too large to send with this question.`;
      all.push({ kind: document ? "file" : "audio", name: file.name, mime: document || file.type, data: await base64(file) });
    } else if (TEXT.test(file.type) || TEXT_NAME.test(file.name)) {
      if (file.size > MOST_TEXT) return `${file.name} is too long: a text may have ${MOST_TEXT / 1000} kB.`;
      all.push({ kind: "file", name: file.name, mime: TEXT.test(file.type) ? file.type : "text/plain", data: await base64(file) });
    } else return `${file.name || "This file"} cannot be sent: pictures (PNG, JPEG, GIF, WebP), sound, PDF and text can.`;
  }
  return all;
}

async function encoded(file: File, room: number): Promise<{ data: string; mime: string } | null> {
  if (file.size * 1.37 < room) return { data: await base64(file), mime: file.type };
  const picture = await createImageBitmap(file).catch(() => null);
  if (!picture) return null;
  const scale = Math.min(1, LONGEST_SIDE / Math.max(picture.width, picture.height));
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(picture.width * scale)), Math.max(1, Math.round(picture.height * scale)));
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const data = await base64(await canvas.convertToBlob({ type: "image/jpeg", quality: 0.85 }));
  return data.length < room ? { data, mime: "image/jpeg" } : null;
}

async function base64(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** The question as the server takes it, and as it is shown. A text file is a file too: for a model it is made text by the server. */
export function withAttachments(words: string, files: Attachment[]): { question: Question; shown: string } {
  const shown = words || "Look at this.";
  if (!files.length) return { question: words, shown: words };
  return { question: [{ type: "text", text: shown }, ...files.map(({ kind, data, mime, name }) => ({ type: kind, data, mime, name }))], shown };
}
