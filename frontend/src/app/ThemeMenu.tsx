import * as Menu from "@radix-ui/react-dropdown-menu";
import { useWords } from "../i18n";
import { Icon } from "../ui/Glyph";
import ui from "../ui/ui.module.css";
import { cx } from "../ui/widgets";
import { setTheme, type Theme, useTheme } from "./theme";

const THEMES: Theme[] = ["light", "dark", "system"];

export function ThemeMenu() {
  const { theme: t } = useWords();
  const theme = useTheme((state) => state.theme);
  return (
    <Menu.Root>
      <Menu.Trigger className={cx(ui.control, ui.square)} aria-label={t.label} title={t.label} data-testid="theme">
        <Icon name={theme === "dark" ? "moon" : "sun"} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content className={ui.menu} align="end" sideOffset={4}>
          <Menu.RadioGroup value={theme} onValueChange={(value) => setTheme(value as Theme)}>
            {THEMES.map((one) => (
              <Menu.RadioItem key={one} value={one} className={ui.menuItem}>
                {t[one]}
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
