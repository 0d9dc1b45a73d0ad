/** The sign of the house: a thread lifted by the treadle. */
export function Mark({ size = 26 }: { size?: number }) {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" class="mark-ground" />
      <path d="M6 22c5 0 5-12 10-12s5 12 10 12" class="mark-thread" />
      <circle cx="16" cy="10" r="3.1" class="mark-knot" />
      <path d="M7 26h18" class="mark-bar" />
    </svg>
  );
}
