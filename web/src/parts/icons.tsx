// Line icons, drawn for this page.

import type { ComponentChildren } from "preact";

function icon(children: ComponentChildren) {
  return function Icon({ size = 18 }: { size?: number }) {
    return (
      <svg width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
        {children}
      </svg>
    );
  };
}

export const Menu = icon(<path d="M4 7h16M4 12h16M4 17h10" />);
export const Plus = icon(<path d="M12 5v14M5 12h14" />);
export const Send = icon(<path d="M12 19V5M6 11l6-6 6 6" />);
export const Stop = icon(<rect x="7" y="7" width="10" height="10" rx="2" fill="currentColor" stroke="none" />);
export const Close = icon(<path d="M6 6l12 12M18 6L6 18" />);
export const Chevron = icon(<path d="M9 6l6 6-6 6" />);
export const Back = icon(<path d="M15 6l-6 6 6 6" />);
export const Pencil = icon(<path d="M5 19l1-4L16 5l3 3L9 18zM14 7l3 3" />);
export const Again = icon(<path d="M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4" />);
export const More = icon(<path d="M5 12h.01M12 12h.01M19 12h.01" stroke-width="3.2" />);
export const Clip = icon(<path d="M18 11l-6.5 6.5a3.5 3.5 0 0 1-5-5L13 6a2.3 2.3 0 0 1 3.3 3.3L10 15.5a1 1 0 0 1-1.5-1.5l5-5" />);
export const Keys = icon(<path d="M4 7h16v10H4zM7.5 10.5h.01M11 10.5h.01M14.5 10.5h.01M8 14h8" />);
export const Check = icon(<path d="M5 12.5l4.5 4.5L19 7.5" />);
export const Cross = icon(<path d="M7 7l10 10M17 7L7 17" />);
export const Trash = icon(<path d="M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12" />);
export const Search = icon(
  <>
    <circle cx="11" cy="11" r="6" />
    <path d="M16 16l4 4" />
  </>,
);
export const Fork = icon(
  <>
    <circle cx="7" cy="6" r="2" />
    <circle cx="17" cy="6" r="2" />
    <circle cx="12" cy="18" r="2" />
    <path d="M7 8c0 5 5 3 5 8M17 8c0 5-5 3-5 8" />
  </>,
);
export const Copy = icon(
  <>
    <rect x="9" y="9" width="10" height="10" rx="2" />
    <path d="M5 15V6a1 1 0 0 1 1-1h9" />
  </>,
);
export const Lens = icon(
  <>
    <path d="M4 6h10M4 12h6M4 18h8" />
    <circle cx="17" cy="14" r="3.2" />
    <path d="M19.4 16.6L22 19" />
  </>,
);
export const File = icon(
  <>
    <path d="M7 4h7l4 4v12H7z" />
    <path d="M14 4v4h4" />
  </>,
);
export const Hand = icon(<path d="M8 12V6.5a1.5 1.5 0 0 1 3 0V11m0-1V5a1.5 1.5 0 0 1 3 0v6m0-4a1.5 1.5 0 0 1 3 0v7c0 3-2 5.5-5.5 5.5S6 18 5 15l-1-2.5c-.4-1.2 1.2-2 2-1L8 14" />);
export const Sun = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6l1.4 1.4M17 17l1.4 1.4M5.6 18.4L7 17M17 7l1.4-1.4" />
  </>,
);
export const Chart = icon(<path d="M4 19h16M7 16v-5M12 16V6M17 16v-8" />);
export const Agents = icon(
  <>
    <rect x="5" y="8" width="14" height="11" rx="3" />
    <path d="M12 8V4M9.5 13h.01M14.5 13h.01" />
  </>,
);
export const Memory = icon(<path d="M7 4h10v16l-5-4-5 4z" />);
export const ThumbUp = icon(<path d="M8 11v8H5v-8zM8 11l4-7c2 0 2.5 1.5 2 3.5L13.500 10H19c.8 0 1.2.8 1 1.500l-1.600 6.300c-.2.700-.7 1.200-1.500 1.200H8" />);
export const ThumbDown = icon(<path d="M8 13V5H5v8zM8 13l4 7c2 0 2.5-1.500 2-3.500L13.500 14H19c.8 0 1.200-.8 1-1.500l-1.600-6.300c-.2-.700-.7-1.200-1.500-1.200H8" />);
export const Download = icon(<path d="M12 5v10M8 11l4 4 4-4M5 19h14" />);
export const Out = icon(<path d="M14 5h5v5M19 5l-8 8M17 14v5H5V7h5" />);
