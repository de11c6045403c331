import { GLYPHS, ICONS, type IconName, type Tone } from "./glyphs";
import ui from "./ui.module.css";

export function StateGlyph({ tone, size = 10 }: { tone: Tone; size?: number }) {
  return (
    <svg
      className={ui.glyph}
      width={size}
      height={size}
      style={{ width: size, height: size }}
      viewBox="0 0 10 10"
      aria-hidden="true"
    >
      <path d={GLYPHS[tone]} fillRule="evenodd" />
    </svg>
  );
}

/** The glyph on the fill of its state. */
export function Swatch({ tone, size = 18 }: { tone: Tone; size?: number }) {
  return (
    <span className={ui.swatch} data-tone={tone} style={{ width: size, height: size }}>
      <StateGlyph tone={tone} size={Math.round(size * 0.55)} />
    </span>
  );
}

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className={ui.icon} style={{ width: size, height: size }} viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}
